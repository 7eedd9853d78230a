"""Progress of a parity run, and the report at its end: the table, failures, counts, and what came closest to its limit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....parity.outcome import Watcher
from ....printable import counted, printable
from ....reports.table import matrix_console
from ...counting import Counting

if TYPE_CHECKING:
    from ....parity.cells import Result
    from ....parity.outcome import Difference, Outcome

SHOWN = 25  # failures in full; the JSON file has all
ALONE = "NumPy was held to itself alone: no proof, in float64 both sides are the same code. --backends names what to prove."


class Progress(Counting, Watcher):
    """Counts the cells of all columns, which tell of theirs from threads of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.total: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.failed: dict[str, int] = {}

    def planned(self, cells: Mapping[str, int]) -> None:
        with self.lock:
            first, self.total = not self.total, dict(cells)
            if first:
                self.tell(f"{counted(sum(cells.values()), 'cell')} in {', '.join(cells)}", now=True)

    def result(self, result: Result) -> None:
        label = result.backend
        with self.lock:
            self.done[label] = self.done.get(label, 0) + 1
            self.failed[label] = self.failed.get(label, 0) + result.has_failed
            self.tell(f"{self._counts()}; {label}: {result.cell.id}")

    def column_ends(self, label: str) -> None:
        with self.lock:
            own = f"{counted(self.done.get(label, 0), 'cell')}, {self.failed.get(label, 0):,} failed"
            self.tell(f"{label}: {own}; in all {self._counts()}", now=True)

    def _counts(self) -> str:
        done, total, failed = (sum(counts.values()) for counts in (self.done, self.total, self.failed))
        return f"{done:,} of {counted(total, 'cell')}, {failed:,} failed, {time.monotonic() - self.began:.0f} s"


def show_outcome(outcome: Outcome, labels: Sequence[str], every_case: bool, seed: int = 0) -> None:
    from ....parity.notable import lacking, sentence, sentences
    from ....parity.outcome import is_own
    from ....parity.report import interruption, of_numpy, table

    console = matrix_console()
    console.print(table(outcome.results, labels, every_case))
    lines = _failures(outcome)
    for (backend, _), differences in outcome.causes().items():
        lines += _where(backend, differences)
    for missed in outcome.missed:
        cell = f"{missed.row}: {missed.case} [{missed.dtype}]"
        lines.append(f"MISSED {missed.control} in {missed.backend}, {cell}: {missed.reason}")
    lines += [f"FAILED {sentence}" for sentence in outcome.idle]
    if (interrupted := interruption(outcome)) is not None:
        lines.append(f"{interrupted}: what is said here is of these cells alone")
    if all(map(is_own, labels)):
        lines.append(ALONE)
    elif outcome.own:
        lines.append(of_numpy(outcome.own))
    lines += [*sentences(outcome.results), *lacking(outcome.results)]
    nearest = sentence(outcome.results)
    print("\n".join([*map(printable, lines), _counts(outcome, seed), *([printable(nearest)] if nearest else [])]))


def _failures(outcome: Outcome) -> list[str]:
    """Return a line per reason: what keeps a worker from answering fails all its cells."""
    failures = outcome.failures()
    lines = [f"FAILED {_whose(results)}: {reason}" for reason, results in failures.items()]
    left = sum(len(results) for results in list(failures.values())[SHOWN:])
    return [
        *lines[:SHOWN],
        *([f"... and {counted(left, 'more cell')}; --json has {'it' if left == 1 else 'them all'}"] if left else []),
    ]


def _whose(results: Sequence[Result]) -> str:
    backends = ", ".join(dict.fromkeys(result.backend for result in results))
    if len(results) == 1:
        return f"{backends}, {results[0].cell.id}"
    return f"{backends}, {len(results)} cells ({results[0].cell.id}, ...)"


def _where(backend: str, differences: Sequence[Difference]) -> list[str]:
    """The first of several that differ for the same cause in full, the others by their ids."""
    first, *others = differences
    lines = [f"Where {backend}, {first.cell} first differs:", *first.tree.splitlines()]
    if others:
        ids = "; ".join(other.cell for other in others)
        lines.append(f"{len(others)} more of {backend} differ from the same place on: {ids}")
    return lines


def _counts(outcome: Outcome, seed: int) -> str:
    from ....parity.cells import EXPECTED, PASSED

    near_ties = sum(result.near_ties for result in outcome.results)
    planted = len(outcome.controls)
    controls = (
        f"{planted - len(outcome.missed)} of {counted(planted, 'negative control')} caught"
        if planted
        else "no negative controls"
    )
    return (
        f"{outcome.executed:,} of {counted(outcome.planned, 'cell')} executed: {outcome.count(PASSED):,} passed, "
        f"{len(outcome.failed)} failed, {counted(outcome.count(EXPECTED), 'expected failure')}; "
        f"{counted(near_ties, 'near-tie')}; {controls}; TF32 off; seed {seed}; {outcome.seconds:.0f} s"
    )
