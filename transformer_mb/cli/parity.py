"""``transformer-mb parity``: every backend against the float64 reference, cell by cell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..printable import printable
from ..processes.ending import TIMEOUT
from . import options
from .reporting import write_json

if TYPE_CHECKING:
    from ..parity.matrix import Outcome
    from ..parity.plan import Plan
    from ..parity.workers import WorkerSpec

NAME = "parity"
SHOWN = 25  # failed cells in full; the JSON file has all

Names = Annotated[str | None, typer.Option("--backends", help="Names separated by commas; default: all installed.")]
Cases = Annotated[str | None, typer.Option("--cases", help="Cells, such as '*cross-attention*'; separate several with |.")]
Dtypes = Annotated[str | None, typer.Option("--dtype", help="Dtypes separated by commas; default: all.")]
Devices = Annotated[list[str] | None, typer.Option("--device", help="cuda, gpu:0, ...; NAME=DEVICE for one backend.")]
Pythons = Annotated[list[str] | None, typer.Option("--python", help="NAME=INTERPRETER; NAME@LABEL=INTERPRETER adds a column.")]
Hosts = Annotated[list[str] | None, typer.Option("--ssh", help="NAME=HOST, or NAME@LABEL=HOST, as execnet's ssh= takes it.")]
Data = Annotated[Path | None, typer.Option("--data", help="Pairs for the training job; else the built-in corpus.")]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write the cells as JUnit XML.")]
Report = Annotated[Path | None, typer.Option("--report", help="A folder for the drawn curves and the table as Markdown.")]
Dump = Annotated[Path | None, typer.Option("--dump", help="A folder for inputs and outputs of models that failed.")]


def command(
    backends: Names = None,
    cases: Cases = None,
    dtype: Dtypes = None,
    device: Devices = None,
    python: Pythons = None,
    ssh: Hosts = None,
    seed: Annotated[int, typer.Option("--seed", help="Of weights, inputs and data.")] = 0,
    controls: Annotated[bool, typer.Option("--controls", help="Plant known mistakes, which must be caught.")] = False,
    data: Data = None,
    json_file: options.JsonFile = None,
    junit: Junit = None,
    report: Report = None,
    dump: Dump = None,
    every_case: Annotated[bool, typer.Option("--every-case", help="One line per case.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=1.0, help="Seconds that one answer may take.")] = TIMEOUT,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Backends at a time; default: one per core.")] = None,
) -> None:
    """Measure every layer, gradient, step and token of every backend against the float64 reference."""
    from ..processes.environment import SETTINGS

    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    from ..parity.matrix import run_matrix
    from ..parity.plan import Selection

    selection = Selection(_dtypes(dtype), cases, seed, controls, data)
    workers = worker_specs(backends, selection.dtypes, device or [], python or [], ssh or [])
    _make_places(json_file, junit, report)
    with _progress() as on_result:
        outcome, plan = run_matrix(workers, selection, timeout=timeout, jobs=jobs, on_result=on_result, dump=dump)
    _show(outcome, [spec.label for spec in workers], every_case)
    settings = {"seed": seed, "cases": cases, "dtypes": list(selection.dtypes), "job": plan.job.name, "timeout": timeout}
    _write(outcome, plan, settings, json_file, junit, report)
    if not outcome.holds:
        raise typer.Exit(1)


def _make_places(json_file: Path | None, junit: Path | None, report: Path | None) -> None:
    """Before a run of minutes: what cannot be written is told now."""
    from ..files.whole_file import check_writable

    for path in (json_file, junit, report and report / "matrix.md"):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_writable(path)


def _offering(names: list[str], dtypes: Sequence[str]) -> list[str]:
    """Those that have one of the dtypes, as far as is known before they run."""
    from ..registry import entries

    return [name for name in names if not entries()[name].dtypes or set(dtypes) & set(entries()[name].dtypes)]


def worker_specs(
    backends: str | None, dtypes: Sequence[str], devices: list[str], pythons: list[str], hosts: list[str]
) -> list[WorkerSpec]:
    """One per column. Columns that only ``--python`` or ``--ssh`` name are added to those asked for."""
    from ..errors import ParityError
    from ..parity.workers import WorkerSpec
    from ..registry import entries, installed

    by_label = {option: _assigned(values, option) for option, values in (("--python", pythons), ("--ssh", hosts))}
    labels = [name.strip() for name in backends.split(",")] if backends else _offering(installed(), dtypes)
    labels += [label for given in by_label.values() for label in given if label not in labels]
    unknown = sorted({label for label in labels if label.partition("@")[0] not in entries()})
    if unknown:
        raise ParityError(f"A backend must be one of {', '.join(entries())}, got {', '.join(unknown)}.")
    everywhere = next((device for device in devices if "=" not in device), None)
    own = _assigned([device for device in devices if "=" in device], "--device")
    return [
        WorkerSpec(label, by_label["--python"].get(label), by_label["--ssh"].get(label), own.get(label, everywhere))
        for label in dict.fromkeys(labels)
    ]


def _assigned(values: list[str], option: str) -> dict[str, str]:
    from ..errors import ParityError

    pairs = [value.partition("=") for value in values]
    if wrong := [value for value, (label, _, right) in zip(values, pairs, strict=True) if not label or not right]:
        raise ParityError(f"{option} must be NAME=VALUE, got {wrong[0]!r}.")
    return {label: right for label, _, right in pairs}


def _dtypes(given: str | None) -> tuple[str, ...]:
    from ..errors import ParityError
    from ..registry import EVERY_DTYPE

    chosen = tuple(name.strip() for name in given.split(",")) if given else EVERY_DTYPE
    if unknown := sorted(set(chosen) - set(EVERY_DTYPE)):
        raise ParityError(f"A dtype must be one of {', '.join(EVERY_DTYPE)}, got {', '.join(unknown)}.")
    return chosen


class _progress:
    """A line on standard error that counts cells; nothing where that is no terminal."""

    def __enter__(self) -> Any:
        from rich.console import Console

        console = Console(stderr=True)
        self.status = console.status("starting") if console.is_terminal else None
        counts = {"done": 0, "failed": 0}

        def on_result(result: Any) -> None:
            counts["done"] += 1
            counts["failed"] += result.status == "failed"
            if self.status is not None:
                self.status.update(f"{counts['done']:,} cells, {counts['failed']} failed; {result.backend}: {result.cell.id}")

        if self.status is not None:
            self.status.start()
        return on_result

    def __exit__(self, *error: Any) -> None:
        if self.status is not None:
            self.status.stop()


def _show(outcome: Outcome, labels: list[str], every_case: bool) -> None:
    from rich.console import Console

    from ..parity.cells import EXPECTED, PASSED
    from ..parity.report import table

    console = Console(width=None if Console().is_terminal else 160)
    console.print(table(outcome.results, labels, every_case))
    for result in outcome.failed[:SHOWN]:
        print(printable(f"FAILED {result.backend}, {result.cell.id}: {result.reason}"))
    if len(outcome.failed) > SHOWN:
        print(f"... and {len(outcome.failed) - SHOWN} more")
    for where, tree in outcome.bisections.items():
        print("\n".join(map(printable, [f"Where {where} first differs:", *tree.splitlines()])))
    for missed in (control for control in outcome.controls if not control.caught):
        cell = f"{missed.row}: {missed.case} [{missed.dtype}]"
        print(printable(f"MISSED {missed.control} in {missed.backend}, {cell}: {missed.reason}"))
    for sentence in outcome.idle:
        print(printable(f"FAILED {sentence}"))
    near_ties = sum(result.reason.count("near-tie") for result in outcome.results)
    print(
        f"{outcome.executed:,} of {outcome.planned:,} cells executed: {outcome.count(PASSED):,} passed, {len(outcome.failed)} "
        f"failed, {outcome.count(EXPECTED)} expected failures; {near_ties} near-ties; "
        f"{sum(control.caught for control in outcome.controls)} of {len(outcome.controls)} negative controls caught; TF32 off; "
        f"{outcome.seconds:.0f} s"
    )


def _write(
    outcome: Outcome, plan: Plan, settings: dict[str, Any], json_file: Path | None, junit: Path | None, report: Path | None
) -> None:
    from ..parity.report import markdown, to_json, write_junit

    run = to_json(outcome, settings)
    write_json(json_file, run)
    if junit is not None:
        write_junit(junit, outcome)
    if report is not None:
        from ..figures.curves import divergence_figure
        from ..figures.files import save_figure
        from ..files.whole_file import write_whole
        from ..parity.verdict.bands import TIMES

        write_whole(report / "matrix.md", markdown(run))
        for dtype, free in plan.free.items():
            if free.curves:
                figure = divergence_figure(dtype, free.curves, plan.recording.losses, TIMES)
                save_figure(figure, report / f"free-running-{dtype}.png")
