"""How a parity run goes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....counted import counted
from ....parity.outcome import Watcher
from ...counting import Counting

if TYPE_CHECKING:
    from ....parity.cells import Result


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
