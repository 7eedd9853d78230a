"""The matrix as a tab of the report: every cell with its figure, its reason and the command that repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ..built_in import EVERY_DTYPE
from ..files.typed_record import check_record
from ..printable import counted
from ..reports.page import Section
from .cells import ControlResult, Result
from .ladder import LADDER
from .verdict.spread import AT

CELL = ("row", "case", "dtype", "backend", "status")  # written as numbers into the lists of these names
FIGURES = ("error", "limit", "limit_by_norm", "seconds", "near_ties", "reason")


class Run(TypedDict):
    """The fields that are read of a run's record; it holds more."""

    cells: int
    planned: int
    own: int
    passed: int
    failed: int
    expected_failures: int
    controls: dict[str, int]
    idle: list[str]
    interrupted: str | None
    seconds: float
    versions: dict[str, str | None]
    devices: dict[str, str | None]
    machine: dict[str, Any]
    settings: dict[str, Any]
    results: list[Any]
    control_results: list[Any]
    bisections: dict[str, str]


def section(run: Any) -> Section:
    """Return the tab of what ``parity --json`` wrote. Raises ValueError for a record that is none."""
    check_record(Run, run, "the file", others=True)
    for kind, name in ((Result, "results"), (ControlResult, "control_results")):
        for number, one in enumerate(run[name], 1):
            check_record(kind, one, f"{name}, number {number},", others=True)
    failed = run["failed"] or run["idle"] or run["controls"]["caught"] < run["controls"]["planted"]
    complete = not run["interrupted"] and 0 < run["cells"] == run["planned"] == len(run["results"])
    return Section(
        kind="matrix",
        title=_title(run),
        sentence=sentence(run),
        holds=complete and not failed,
        facts=_facts(run),
        data=_data(run),
    )


def sentence(run: Mapping[str, Any]) -> str:
    """Return what the run comes to, for people who do not know its words yet."""
    cells, controls = counted(run["cells"], "cell"), run["controls"]
    if run["cells"] and not run["failed"] and run["cells"] == run["planned"]:
        told = f"All {cells} agree with the float64 reference, each within its limit"
    else:
        told = f"{run['failed']:,} of {counted(run['planned'], 'cell')} failed"
        told += "" if run["cells"] == run["planned"] else f", {run['cells']:,} were executed"
    if controls["planted"]:
        told += f"; {controls['caught']:,} of {counted(controls['planted'], 'planted mistake')} were caught"
    return ". ".join([told, *run["idle"], *([run["interrupted"]] if run["interrupted"] else [])]) + "."


def _title(run: Mapping[str, Any]) -> str:
    """Return the tab's title, with the name of a GPU that was among the devices."""
    hardware = run.get("hardware")
    names = hardware if isinstance(hardware, dict) else {}
    gpus = dict.fromkeys(str(names.get(label)) for label, device in run["devices"].items() if device and device != "cpu")
    return " ".join(["Matrix", *(["on", ", ".join(gpus)] if gpus else [])])


def _facts(run: Mapping[str, Any]) -> dict[str, str]:
    versions = [
        f"{name} {version} on {run['devices'].get(name)}" if version else f"{name} did not start"
        for name, version in run["versions"].items()
    ]
    machine = run["machine"]
    facts = {
        "Versions": ", ".join(versions),
        "Processor": str(machine.get("model") or machine.get("processor")),
        "Python": str(machine.get("python")),
        "Seed": str(run["settings"].get("seed")),
        "TF32": str(run.get("tf32", "")),
        "Digest of the code": str(run.get("code") or "")[:16],
        "Took": f"{run['seconds']:,.0f} s",
        "Expected failures": str(run["expected_failures"]),
        "Cells that test NumPy, whose code is also the reference's": f"{run['own']:,}",
    }
    return {label: text for label, text in facts.items() if text not in ("", "None", "0")}


def _data(run: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as lists of numbers into lists of names, which a browser opens fast and which pack well."""
    order = {name: number for number, name in enumerate(LADDER)}
    results = sorted(run["results"], key=lambda one: (order.get(one["row"], len(order)), EVERY_DTYPE.index(one["dtype"])))
    names: dict[str, list[str]] = {name: list(dict.fromkeys(one[name] for one in results)) for name in CELL}
    names["backend"] = list(dict.fromkeys([*run["versions"], *names["backend"]]))
    numbers = {name: {one: number for number, one in enumerate(listed)} for name, listed in names.items()}
    cells = [[*(numbers[name][one[name]] for name in CELL), *(one.get(name) for name in FIGURES)] for one in results]
    found = {tuple(one[:4]): number for number, one in enumerate(cells)}
    return {
        "names": names,
        "sentences": {name: said for name, said in _sentences().items() if name in names["row"]},
        "cells": cells,
        "more": _more(results),
        "controls": _controls(run["control_results"], numbers, found),
        "at": AT,
        "trees": run["bisections"],
        "repeat": {label: repeat(label, run) for label in names["backend"]},
        "curves": run.get("free_running", {}),
    }


def _sentences() -> dict[str, str]:
    """Return by row what is true of a backend that passes it; one that goes on another's sentence has that before it."""
    said: dict[str, str] = {}
    before = ""
    for name, row in LADDER.items():
        said[name] = f"{before} {row.sentence}" if row.sentence.startswith("So ") else row.sentence
        before = row.sentence
    return said


def _more(results: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return by number of the cell what only some have: the worst element, and how the errors of all are spread."""
    known = ("worst", "quantiles")
    return {
        number: {name: one[name] for name in known if one.get(name)}
        for number, one in enumerate(results)
        if any(one.get(name) for name in known)
    }


def _controls(
    controls: Iterable[Mapping[str, Any]], numbers: Mapping[str, Mapping[str, int]], found: Mapping[tuple[int, ...], int]
) -> list[list[Any]]:
    """Return of each planted mistake its cell's number, its name, whether it was caught, and why."""
    listed = []
    for one in controls:
        place = tuple(numbers[name].get(one[name], -1) for name in CELL[:4])
        listed.append([found.get(place), one["control"], one["caught"], one["reason"]])
    return listed


def repeat(label: str, run: Mapping[str, Any]) -> str:
    """Return the command that repeats cells of a column, but for ``--cases``, which follows."""
    settings, device = run["settings"], run["devices"].get(label)
    command = f"transformer-mb parity --backends {label}"
    if device and device != "cpu":
        command += f" --device {label}={device}"
    elif "@" in label:
        command += f" --python {label}=INTERPRETER"
    if settings.get("seed"):
        command += f" --seed {settings['seed']}"
    if settings.get("job") not in (None, "built-in corpus"):
        command += f" --data {settings['job']}"
    return command
