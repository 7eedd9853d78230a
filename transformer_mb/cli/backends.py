"""``transformer-mb backends``: which frameworks can be used here, and why another one cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from . import options
from .reporting import write_json

NAME = "backends"
PATIENCE = 120  # seconds; the slowest framework takes ten to import on a small machine


def command(json_file: options.JsonFile = None) -> None:
    """List the backends: versions, devices, dtypes, and why one is not usable."""
    from concurrent.futures import ThreadPoolExecutor

    from ..files.whole_file import check_writable
    from ..registry import entries

    check_writable(json_file)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = list(pool.map(examine, entries()))
    _show(found)
    write_json(json_file, found)


def examine(name: str) -> dict[str, Any]:
    """Ask one backend in a process of its own, since two frameworks in one process can crash it."""
    described = {"name": name, "usable": False, "version": None, "devices": [], "dtypes": [], "reason": None}
    code = [sys.executable, "-P", "-m", "transformer_mb.cli.backend_probe", name]
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
    try:
        answer = subprocess.run(code, timeout=PATIENCE, **streams)
    except subprocess.TimeoutExpired:
        return {**described, "reason": f"It did not answer within {PATIENCE} seconds."}
    except OSError as error:
        return {**described, "reason": f"Its process could not be started: {error}."}
    try:
        reply = json.loads(answer.stdout.splitlines()[-1])
        return {**described, **{key: reply[key] for key in ("usable", "version", "devices", "dtypes", "reason")}}
    except (IndexError, ValueError, KeyError, TypeError):
        return {**described, "reason": _how_it_ended(answer)}


def _how_it_ended(answer: subprocess.CompletedProcess[str]) -> str:
    last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if answer.returncode < 0:
        return f"Its process was ended by {signal.Signals(-answer.returncode).name}: {last}"
    return f"Its process ended with status {answer.returncode}: {last}"


def _show(found: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("backend", "usable", "version", "devices", "dtypes and remarks", title="Backends")
    for column in table.columns:
        column.overflow = "fold"
    for one in found:
        remarks = ", ".join(one["dtypes"]) if one["usable"] else one["reason"]
        usable = "[green]yes[/green]" if one["usable"] else "[red]no[/red]"
        table.add_row(one["name"], usable, one["version"] or "", ", ".join(one["devices"]), _plain(remarks))
    Console().print(table)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)  # an error message may hold what rich would read as markup
