"""How a parity run goes, on standard error: a line that counts on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..parity.outcome import Watcher

if TYPE_CHECKING:
    from ..parity.cells import Result

EVERY = 30.0  # seconds between two lines in a file or a pipe


class Progress(Watcher):
    """A context: what is told after its end is not shown."""

    def __init__(self) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        self.status: Any = console.status("starting") if console.is_terminal else None
        self.lock = threading.Lock()
        self.total: dict[str, int] = {}
        self.done: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.began = self.told = time.monotonic()
        self.ended = False

    def __enter__(self) -> Progress:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(self, *error: Any) -> None:
        with self.lock:
            self.ended = True
        if self.status is not None:
            self.status.stop()

    def planned(self, cells: Mapping[str, int]) -> None:
        with self.lock:
            first, self.total = not self.total, dict(cells)
            if first:
                self._show(f"{sum(cells.values()):,} cells in {', '.join(cells)}", now=True)

    def result(self, result: Result) -> None:
        label = result.backend
        with self.lock:
            self.done[label] = self.done.get(label, 0) + 1
            self.failed[label] = self.failed.get(label, 0) + (result.status == "failed")
            self._show(f"{self._counts()}; {label}: {result.cell.id}", now=False)

    def column_ends(self, label: str) -> None:
        with self.lock:
            own = f"{self.done.get(label, 0):,} cells, {self.failed.get(label, 0):,} failed"
            self._show(f"{label}: {own}; in all {self._counts()}", now=True)

    def _counts(self) -> str:
        done, total, failed = (sum(counts.values()) for counts in (self.done, self.total, self.failed))
        return f"{done:,} of {total:,} cells, {failed:,} failed, {time.monotonic() - self.began:.0f} s"

    def _show(self, text: str, now: bool) -> None:
        from ..printable import printable

        if self.ended:
            return
        if self.status is not None:
            from rich.text import Text

            self.status.update(Text(printable(text)))
        elif now or time.monotonic() - self.told >= EVERY:
            self.told = time.monotonic()
            print(printable(text), file=sys.stderr, flush=True)
