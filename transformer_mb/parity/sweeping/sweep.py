"""Runs what a sweep's folder does not hold yet, and runs again what was lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...errors import KilledError, WorkerError
from ...printable import counted
from .findings import Findings
from .folder import SweepFolder
from .unit import Answer, Unit, answered

RETRIES = 3  # of a unit whose process or node was ended from outside
Engine = Callable[[Sequence[Unit]], Iterator[tuple[Unit, Answer]]]
Tell = Callable[[str], None]


def in_turn(jobs: int | None) -> Engine:
    """The engine that runs one unit after the other, here; each takes all cores, or ``jobs`` of them."""
    return lambda units: ((unit, answered(unit.request, jobs)) for unit in units)


def missing(units: Sequence[Unit], folder: SweepFolder) -> list[Unit]:
    return [unit for unit in units if folder.result(unit.name) is None]


def run_missing(units: Sequence[Unit], folder: SweepFolder, engine: Engine, tell: Tell) -> dict[str, str]:
    """Run the units that have no result. Returns, by name, why one could not be run.

    A result is a result, however many of its cells have failed: it is never tried again. What was ended from outside (the
    system's memory ran out, a node went away) is, up to RETRIES times, after all others.
    """
    unable: dict[str, str] = {}
    for unit in units:
        folder.plan(unit)
    waiting = missing(units, folder)
    for attempt in range(1, RETRIES + 2):
        lost: list[Unit] = []
        for unit, answer in engine(waiting):
            said = f"seed {unit.selection.seed} ({unit.name})"
            if isinstance(answer, WorkerError):
                again = isinstance(answer, KilledError) and attempt <= RETRIES
                tell(f"{said}: {'lost' if again else 'not executed'}: {answer}")
                lost += [unit] if again else []
                unable |= {} if again else {unit.name: f"{answer} Attempts: {attempt}."}
                continue
            folder.write(unit, answer, attempt)
            cells = counted(answer["cells"], "cell")
            tell(f"{said}: {cells}, {answer['failed']} failed, {answer['seconds']:.0f} s on {answer['host']}")
        if not (waiting := lost):
            break
    return unable


def found_in(units: Sequence[Unit], folder: SweepFolder, unable: dict[str, str]) -> Findings:
    """Return what these units show, as ``collected`` would report of a folder that holds no others."""
    findings = Findings()
    for unit in units:
        findings.add(unit.name, unit.selection.seed, folder.result(unit.name), unable.get(unit.name))
    return findings


def collected(folder: SweepFolder, seeds: Iterable[int] = ()) -> Findings:
    """Return what all units of a folder show.

    Those that were planned and have no result are missed by name, and so are the ``seeds`` that no command has planned.
    """
    findings, planned = Findings(), set()
    for found in folder.results():
        if found.run is None and found.refused:
            findings.refuse(found.refused)
        else:
            findings.add(found.name, found.seed, found.run)
        planned.add(found.seed)
    for seed in seeds:
        if seed not in planned:
            findings.add("no unit", seed, None, "nobody has planned it here")
    return findings
