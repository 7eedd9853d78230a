"""The state that the columns of a run share. Each computes in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .cells import Cell, Result
from .outcome import Outcome, Watcher
from .plan import Plan
from .worker import Worker


class Stopped(BaseException):
    """The run was abandoned: what a column is still computing is not wanted any more."""


@dataclass
class Run:
    """A run in the making. Once it is abandoned, nothing more comes into its outcome.

    Args:
        folder: where workers start. timeout: of one answer, in seconds. dump: see ``run_matrix``.
        places: as many as there are workers that may compute at the same time.
        barrier: where each column waits for the results of all others.
    """

    plan: Plan
    folder: Path
    timeout: float
    dump: Path | None
    progress: Watcher
    places: threading.Semaphore
    barrier: threading.Barrier
    outcome: Outcome = field(default_factory=Outcome)
    workers: list[Worker] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise Stopped when the run was abandoned."""
        if self.stopped.is_set():
            raise Stopped

    @contextmanager
    def telling(self) -> Iterator[Outcome]:
        """Give the outcome to one column at a time. Raises Stopped when the run was abandoned."""
        with self.lock:
            self.check()
            yield self.outcome

    def abandon(self) -> None:
        """End the workers: what is still being asked of them is not waited for."""
        with self.lock:
            self.stopped.set()
        self.barrier.abort()
        for worker in self.workers:
            worker.kill()

    def started(self, worker: Worker) -> None:
        """A worker's process runs; it may take long to greet."""
        with self.lock:
            self.workers.append(worker)
        if self.stopped.is_set():
            worker.kill()

    def will_execute(self, dtypes: Mapping[str, Sequence[str]]) -> None:
        """Columns have these dtypes, as far as is known yet."""
        cells = {label: len(self.plan.cells(label, own)) for label, own in dtypes.items()}
        with self.telling() as outcome:
            outcome.planned_cells |= cells
            planned = dict(outcome.planned_cells)
        self.progress.planned(planned)

    def add(self, executed: Sequence[Cell], results: Sequence[Result]) -> None:
        """``executed``: the cells that the worker was asked for; where it could not be, they have failed all the same."""
        with self.telling() as outcome:
            outcome.executed += len({result.cell for result in results} & set(executed))
            outcome.results += results
        for result in results:
            self.progress.result(result)
