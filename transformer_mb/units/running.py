"""Runs what a folder of units does not hold yet, and runs again what was lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import KilledError, WorkerError
from .folder import UnitFolder
from .unit import Answer

RETRIES = 3  # of a unit whose process or node was ended from outside
Answering = Callable[[Mapping[str, Any], int | None], Answer]  # of a request, with so many CPUs
Engine = Callable[[Sequence[Any]], Iterator[tuple[Any, Answer]]]  # of units
Tell = Callable[[str], None]


def in_turn(answer: Answering, jobs: int | None) -> Engine:
    """The engine that runs one unit after the other, here; each takes all cores, or ``jobs`` of them."""
    return lambda units: ((unit, answer(unit.request, jobs)) for unit in units)


def missing(units: Sequence[Any], folder: UnitFolder) -> list[Any]:
    return [unit for unit in units if folder.result(unit.name) is None]


def run_missing(
    units: Sequence[Any], folder: UnitFolder, engine: Engine, tell: Tell, done: Callable[[dict[str, Any]], str]
) -> dict[str, str]:
    """Run the units that have no result. Returns, by name, why one could not be run.

    A result is a result, whatever it says: it is never tried again. What was ended from outside (the system's memory ran
    out, a node went away) is, up to RETRIES times, after all others. ``done``: what is told of a result.
    """
    unable: dict[str, str] = {}
    for unit in units:
        folder.plan(unit)
    waiting = missing(units, folder)
    for attempt in range(1, RETRIES + 2):
        lost: list[Any] = []
        for unit, answer in engine(waiting):
            said = f"{unit.label} ({unit.name})"
            if isinstance(answer, WorkerError):
                again = isinstance(answer, KilledError) and attempt <= RETRIES
                tell(f"{said}: {'lost' if again else 'not executed'}: {answer}")
                lost += [unit] if again else []
                unable |= {} if again else {unit.name: f"{answer} Attempts: {attempt}."}
                continue
            folder.write(unit, answer, attempt)
            tell(f"{said}: {done(answer)}")
        if not (waiting := lost):
            break
    return unable
