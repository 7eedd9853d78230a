"""``transformer-mb backends``: which frameworks can be used here, and why another one cannot."""

from __future__ import annotations

import os
from typing import Any

from ...columns.ending import IMPORT_TIMEOUT
from ...reports.output import Output
from .. import options

NAME = "backends"


def command(json_file: options.JsonFile = None, force: options.Force = False) -> None:
    """List the backends: versions, devices, dtypes, and why one is not usable."""
    from concurrent.futures import ThreadPoolExecutor

    from ...registry import entries

    output = Output(json_file, force=force)
    output.check()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = list(pool.map(examine, entries()))
    _show(answers)
    output.write(answers)


def examine(name: str) -> dict[str, Any]:
    """Ask one backend in a process of its own, since two frameworks in one process can crash it."""
    from ...columns.one_shot import call
    from ...errors import WorkerError

    try:
        _, facts = call(f"{__name__}:describe", {}, {"name": name}, name=name, timeout=IMPORT_TIMEOUT)
    except WorkerError as error:
        return {
            "name": name,
            "usable": False,
            "version": None,
            "devices": [],
            "dtypes": [],
            "without_gpu": None,
            "reason": str(error),
        }
    return {"name": name, "usable": True, **facts, "reason": None}


def describe(arrays: Any, facts: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a backend offers here; runs in that process."""
    from ...native_backend import NativeBackend
    from ...registry import load_backend_class

    backend = load_backend_class(facts["name"])
    without = backend.without_gpu() if issubclass(backend, NativeBackend) else ""
    offered = {"version": backend.version(), "devices": backend.devices(), "dtypes": list(backend.dtypes)}
    return {}, {**offered, "without_gpu": without or None}


def _show(backends: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("backend", "usable", "version", "devices", "dtypes and remarks", title="Backends")
    for column in table.columns:
        column.overflow = "fold"
    for one in backends:
        without = f"; no GPU: {one['without_gpu']}" if one["without_gpu"] else ""
        remarks = f"{', '.join(one['dtypes'])}{without}" if one["usable"] else _missing(**one)
        usable = "[green]yes[/green]" if one["usable"] else "[red]no[/red]"
        table.add_row(one["name"], usable, one["version"] or "", ", ".join(one["devices"]), _plain(remarks))
    Console().print(table)


def _missing(name: str, reason: str, **others: Any) -> str:
    """The reason without what the table says already: the name, and what else is installed."""
    return reason.removeprefix(f"The backend {name!r} cannot be used: ").partition(" Installed here:")[0]


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)  # an error message may hold what rich would read as markup
