"""The results of a run, as a table, as JSON, as JUnit XML, as Markdown for docs/PARITY.md."""

from __future__ import annotations

import math
import os
import platform
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..files.whole_file import replaced_file
from ..machine.processor import described
from ..printable import counted, printable, table_cell
from ..reports.record import finite
from .cells import EXPECTED, FAILED, PASSED, SURPRISING, Result
from .ladder import LADDER
from .notable import as_json, as_markdown, closest
from .outcome import Outcome, is_own


def to_json(outcome: Outcome, settings: Mapping[str, Any], free_running: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The run for programs to read; ``free_running`` as ``Plan.free_running`` gives it."""
    caught = len(outcome.controls) - len(outcome.missed)
    return {
        "cells": outcome.executed,
        "planned": outcome.planned,
        "own": outcome.own,
        "code": outcome.code,
        "passed": outcome.count(PASSED),
        "failed": len(outcome.failed),
        "expected_failures": outcome.count(EXPECTED),
        "controls": {"planted": len(outcome.controls), "caught": caught},
        "idle": outcome.idle,
        "interrupted": interruption(outcome),
        "seconds": round(outcome.seconds, 1),
        "versions": {label: greeting.get("version") for label, greeting in outcome.backends.items()},
        "devices": {label: greeting.get("device") for label, greeting in outcome.backends.items()},
        "hardware": {label: greeting.get("hardware") for label, greeting in outcome.backends.items()},
        "tf32": "off, by each backend's own switch",
        "environment": {name: os.environ[name] for name in ("XLA_FLAGS", "NVIDIA_TF32_OVERRIDE") if name in os.environ},
        "machine": {
            "python": platform.python_version(),
            "system": platform.system(),
            "processor": platform.machine(),
            **described(),
        },
        "settings": dict(settings),
        "closest": [as_json(result) for result in closest(outcome.results)],
        "results": [finite(vars(result)) for result in outcome.results],
        "control_results": [vars(control) for control in outcome.controls],
        "free_running": finite(free_running or {}),
        "bisections": {f"{one.backend}, {one.cell}": one.tree for one in outcome.differences},
    }


def interruption(outcome: Outcome) -> str | None:
    """Say in a few words how a run was ended before its end; None for one that was not."""
    ended = outcome.interrupted
    if ended is None:
        return None
    if isinstance(ended, KeyboardInterrupt | SystemExit):
        # As a shell counts a process that a signal has ended.
        number = signal.SIGINT if isinstance(ended, KeyboardInterrupt) else int(ended.code or 0) - 128
        name = next((one.name for one in signal.Signals if one == number), str(ended))
        how = f"by {name}"
    else:
        how = f"by {type(ended).__name__}: {ended}"
    return f"Interrupted {how} after {outcome.executed:,} of {counted(outcome.planned, 'cell')}"


def write_junit(path: Path, outcome: Outcome) -> None:
    """Write a test case per cell, as CI servers read them; what else keeps the run from holding is an error of its own."""
    errors = {f"{one.control} in {one.row}: {one.case} [{one.dtype}], {one.backend}": one.reason for one in outcome.missed}
    errors |= {sentence.partition(" executed")[0]: sentence for sentence in outcome.idle}
    if (interrupted := interruption(outcome)) is not None:
        errors["the whole run"] = interrupted
    suite = ElementTree.Element(
        "testsuite",
        name="parity",
        tests=str(len(outcome.results) + len(errors)),
        failures=str(len(outcome.failed)),
        errors=str(len(errors)),
        time=f"{outcome.seconds:.1f}",
    )
    for result in outcome.results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"parity.{result.backend}", name=result.cell.id, time=f"{result.seconds:.3f}"
        )
        if result.status in (FAILED, SURPRISING):
            ElementTree.SubElement(case, "failure", message=printable(result.reason))
        elif result.status == EXPECTED:
            ElementTree.SubElement(case, "skipped", message=printable(f"expected failure: {result.reason}"))
        else:
            ElementTree.SubElement(case, "system-out").text = printable(result.reason)
    for name, reason in errors.items():
        case = ElementTree.SubElement(suite, "testcase", classname="parity", name=printable(name))
        ElementTree.SubElement(case, "error", message=printable(reason))
    with replaced_file(path) as file:
        ElementTree.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def figure(results: Sequence[Mapping[str, Any]]) -> str:
    """The worst of some results by how much of its limit it takes, such as ``4.1e-07``, with failures counted."""
    if not results:
        return ""
    failed = sum(result["status"] in (FAILED, SURPRISING) for result in results)
    # What could not be measured is None here and NaN there; it has failed, and is counted below.
    measured = [result for result in results if result["error"] is not None and math.isfinite(result["error"])]
    ordered = sorted(measured, key=lambda result: -result["error"] / (result["limit"] or 1.0))
    text = f"{ordered[0]['error']:.1e}" if ordered else ""
    return f"{text} ({failed} of {len(results)} failed)" if failed else text


WIDEST_DTYPE, WIDEST_FIGURE = len("bfloat16"), len("1.2e-15")  # letters


def table(results: Sequence[Result], backends: Sequence[str], by_case: bool = False) -> Any:
    """Rows of the ladder, or with ``by_case`` every case; columns backends; in each cell the worst figure."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = Table(title="Parity: worst error by row", title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    # In a narrow terminal the names of rows go on in the next line, as the counts of failures do, and no figure is broken.
    rows.add_column("row", overflow="fold")
    for head, least in (("dtype", WIDEST_DTYPE), ("cells", 5), *((backend, WIDEST_FIGURE) for backend in backends)):
        rows.add_column(head, width=max(least, len(head)), overflow="fold")
    for (name, dtype), cells in _grouped([vars(result) for result in results], by_case).items():
        columns = _columns(cells, backends)
        styled = [Text(text, style="red" if text.endswith("failed)") else "") for text in columns]
        rows.add_row(name, dtype, str(len(cells)), *styled)
    return rows


def _grouped(results: Sequence[Mapping[str, Any]], by_case: bool = False) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Group by row, or by case, and dtype, in the ladder's order."""
    order = [(row.name, dtype) for row in LADDER.values() for dtype in row.dtypes]
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in sorted(results, key=lambda result: order.index((result["row"], result["dtype"]))):
        name = f"{result['row']}: {result['case']}" if by_case else result["row"]
        groups.setdefault((name, result["dtype"]), []).append(result)
    return groups


def _columns(cells: Sequence[Mapping[str, Any]], backends: Sequence[str]) -> list[str]:
    return [figure([cell for cell in cells if cell["backend"] == backend]) or "-" for backend in backends]


def markdown(run: Mapping[str, Any]) -> str:
    """Write all of a run, from what ``to_json`` wrote."""
    return f"{figures(run)}\n{summary(run)}"


def figures(run: Mapping[str, Any]) -> str:
    """The table of docs/PARITY_FIGURES.md."""
    backends = list(run["versions"])
    lines = [f"| row | dtype | {' | '.join(backends)} |", f"|---|---|{'---|' * len(backends)}"]
    for (row, dtype), cells in _grouped(run["results"]).items():
        lines.append(f"| {row} | {dtype} | {' | '.join(_columns(cells, backends))} |")
    return "\n".join([*lines, ""])


def summary(run: Mapping[str, Any]) -> str:
    """The text of docs/PARITY.md: the widest limits, and the counts."""
    limits = as_markdown(run["results"])
    return "\n".join([*limits, *([""] if limits else []), counts(run)])


def counts(run: Mapping[str, Any]) -> str:
    """Count the passed cells, and name versions, code and processor: the text below the table, and in the README."""
    controls = run["controls"]
    versions = ", ".join(
        f"{name} {version} on {run['devices'][name]}" if version else f"{name} did not start"
        for name, version in run["versions"].items()
    )
    versions = table_cell(versions)
    of = "" if run["cells"] == run["planned"] else f" of {run['planned']:,}"
    cells = f"{run['cells']:,}{of} cell{'' if run['planned'] == 1 else 's'}, {run['passed']:,} passed, {run['failed']} failed"
    caught = f"{controls['caught']:,} of {counted(controls['planted'], 'negative control')} caught"
    summary = f"{cells}, {counted(run['expected_failures'], 'expected failure')}; {caught}; {run['seconds']:.0f} s."
    if run.get("interrupted"):
        summary += f" {table_cell(run['interrupted'])}."
    own = sum(is_own(result["backend"]) for result in run["results"])
    summary += f"\n{of_numpy(own)}" if own else ""
    summary += _missed(run.get("control_results", ()))
    return f"{summary}\nVersions: {versions}.\n{_where(run)}"


def _missed(controls: Sequence[Mapping[str, Any]]) -> str:
    """The planted mistakes that were not caught, each with its backends."""
    by_kind: dict[str, list[str]] = {}
    for one in controls:
        if not one["caught"]:
            by_kind.setdefault(f"{one['control']} in {one['row']}, {one['case']} [{one['dtype']}]", []).append(one["backend"])
    return "".join(f"\nMissed: {table_cell(kind)}: {', '.join(backends)}." for kind, backends in by_kind.items())


def of_numpy(own: int) -> str:
    return f"Of these, {counted(own, 'cell')} {'tests' if own == 1 else 'test'} NumPy, whose code is also the reference's."


def _where(run: Mapping[str, Any]) -> str:
    """The seed, the code and the processor, as far as an earlier run has kept them."""
    machine, code = run["machine"], run.get("code")
    instructions = machine.get("instructions")
    known = {
        "Seed": run["settings"].get("seed"),
        "Digest of the code": code and code[:16],
        "Processor": f"{machine.get('model') or machine['processor']}{(instructions and f' ({instructions})') or ''}",
    }
    return " ".join(f"{name}: {table_cell(str(value))}." for name, value in known.items() if value is not None) + "\n"
