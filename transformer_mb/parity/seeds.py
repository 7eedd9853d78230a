"""Several seeds of the matrix, one run each: what failed in any of them, and what came closest to its limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .cells import Result
from .closest import as_json, closest
from .matrix import run_matrix
from .outcome import Outcome
from .selection import Selection
from .workers import WorkerSpec

# The rows whose cases each seed draws, which take seconds; trajectories follow the seed too, and take minutes.
DRAWN = "layer *|model *|cached *|optimizer *|trained *|*tokens: *"


@dataclass
class Seeds:
    """Of all seeds together.

    Args:
        seeds: those that were run. cells: how many were executed.
        failed: what failed or kept a run from holding, a line each.
        nearest: the result of each backend, row and dtype that takes most of its limit, with its seed.
    """

    seeds: list[int] = field(default_factory=list)
    cells: int = 0
    failed: list[str] = field(default_factory=list)
    nearest: list[tuple[int, Result]] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        if seed not in self.seeds:
            self.seeds.append(seed)
        self.cells += outcome.executed
        lines = [f"seed {seed}, {one.backend}, {one.cell.id}: {one.reason}" for one in outcome.failed]
        self.failed += lines
        if not outcome.holds and not lines:
            self.failed.append(f"seed {seed}: {outcome.executed} of {outcome.planned} cells; {'; '.join(outcome.idle)}")
        owners = {id(result): number for number, result in self.nearest}
        results = [*(result for _, result in self.nearest), *outcome.results]
        self.nearest = [(owners.get(id(result), seed), result) for result in closest(results)]

    def lines(self, count: int) -> list[str]:
        """The nearest of all."""
        return [
            f"{one.share:.2f} seed {seed}, {one.backend}, {one.cell.id}: {one.reason}" for seed, one in self.nearest[:count]
        ]

    def to_json(self) -> dict[str, Any]:
        nearest = [{"seed": seed, **as_json(result)} for seed, result in self.nearest]
        return {"seeds": self.seeds, "cells": self.cells, "failed": self.failed, "closest": nearest}


def run_seeds(
    backends: Sequence[str],
    seeds: Iterable[int],
    selection: Selection,
    found: Seeds,
    tell: Callable[[str], None] = lambda line: None,
) -> Seeds:
    """Each seed's run added to what was ``found`` before; ``tell`` gets a line after each."""
    for seed in seeds:
        outcome, _ = run_matrix([WorkerSpec(name) for name in backends], replace(selection, seed=seed))
        if outcome.interrupted is not None:
            raise outcome.interrupted
        found.add(seed, outcome)
        own = f"{outcome.executed} cells, {len(outcome.failed)} failed, {outcome.seconds:.0f} s"
        tell(f"seed {seed}: {own}; nearest till now {'; '.join(found.lines(1))}")
    return found
