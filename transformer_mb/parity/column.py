"""The columns of a run, each in a thread of its own, and the state that they share."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..built_in import PLAIN_DTYPES
from ..columns.column import Column
from ..divergences import Divergence, of_case
from ..errors import LackingWorkerError, WorkerError
from ..registry import entries
from .bisection import bisect, can_bisect
from .cells import EXPECTED, FAILED, PASSED, SURPRISING, Ask, Cell, ControlResult, Experiment, Result
from .computing.messages import Request
from .controls.answers import Replay, few_bits_controls, spoil
from .outcome import Difference, Outcome, Watcher
from .plan import Plan
from .verdict.answers import judged
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


# Who ends the run may end its workers too: seconds in which we learn of it before a death counts as the worker's own.
GRACE = 0.3


class ColumnRun:
    """A column's side of a run. ``dtypes`` are those that it must offer, until its worker says more."""

    def __init__(self, column: Column, run: Run):
        self.column, self.shared, self.label = column, run, column.label
        self.dtypes = list(entries()[column.backend].dtypes or PLAIN_DTYPES)
        self.worker: Worker | None = None
        self.divergences: Sequence[Divergence] = ()
        self.unable: str | None = None  # why nothing can be asked of it

    def run(self) -> None:
        shared = self.shared
        with shared.places:
            shared.check()
            self._start()
            self._experiments(after=False)
            for experiment in shared.plan.controls:
                if experiment not in shared.plan.experiments and self._takes_part(experiment):  # for its controls alone
                    self._controls(experiment, Replay(self._ask))
            shared.progress.column_ends(self.label)
        shared.barrier.wait()
        with shared.places:
            self._experiments(after=True)
        if self.worker is not None:
            self.worker.stop()
        self._note_idleness()

    def _start(self) -> None:
        try:
            self.worker = Worker(self.column, self.shared.folder, self.shared.timeout, self.shared.started)
        except WorkerError as error:
            self._wait_for_the_end()
            self.unable = str(error)
            self._note({"error": self.unable})
            return
        # What it must offer, and what it offers beside that.
        self.dtypes = list({*entries()[self.column.backend].dtypes, *self.worker.greeting["dtypes"]})
        self.divergences = [Divergence(*row) for row in self.worker.greeting["divergences"]]
        self._note({**self.worker.greeting, "device_asked_for": self.column.device})
        self.shared.will_execute({self.label: self.dtypes})

    def _note(self, greeting: dict[str, Any]) -> None:
        with self.shared.telling() as outcome:
            outcome.backends[self.label] = greeting

    def _wait_for_the_end(self) -> None:
        """A worker has died; if that is because the run ends, it is no failure of its cells."""
        self.shared.stopped.wait(GRACE)
        self.shared.check()

    def _ask(self, request: Request) -> Mapping[str, np.ndarray]:
        self.shared.check()
        if self.unable is not None or self.worker is None:
            raise WorkerError(self.unable or "it did not start")
        try:
            return self.worker.ask(request)
        except WorkerError:
            if self.worker.dead is not None:
                self._wait_for_the_end()
                self.unable = self.worker.dead
            raise

    def _note_idleness(self) -> None:
        """A column may not choose to have nothing to do."""
        reasons, outcome = [], self.shared.outcome
        if not any(result.backend == self.label for result in outcome.results):
            reasons.append(f"{self.label} executed no cell: it offers {', '.join(self.dtypes) or 'no dtype'}.")
        if self.shared.plan.selection.controls and not any(control.backend == self.label for control in outcome.controls):
            reasons.append(f"No negative control ran in {self.label}.")
        with self.shared.telling() as outcome:
            outcome.idle += reasons

    def _experiments(self, after: bool) -> None:
        takes = self.shared.plan.selection.takes
        for experiment in self.shared.plan.experiments:
            if experiment.after != after or not self._takes_part(experiment):
                continue
            self.shared.check()
            # Without a worker its cells fail, and none is executed.
            executed = [cell for cell in experiment.cells(self.label) if takes(cell)] if self.unable is None else []
            replay = Replay(self._ask)
            results = [result for result in _results(experiment, self.label, replay, self.divergences) if takes(result.cell)]
            self.shared.add(executed, results)
            if failed := [result for result in results if result.status == FAILED]:
                self._bisect(experiment, failed)
            # At once, while what is compiled for the experiment is still there.
            self._controls(experiment, replay)

    def _bisect(self, experiment: Experiment, failed: list[Result]) -> None:
        """Find where a failed model first differs."""
        if self.unable is not None or not can_bisect(experiment):
            return
        dump = self.shared.dump and self.shared.dump / self.label / dumped(failed[0].cell)
        try:
            cause, tree = bisect(experiment, self._ask, dump, [result.row for result in failed])
        except WorkerError:
            return  # the cell has said it already
        with self.shared.telling() as outcome:
            outcome.differences.append(Difference(self.label, failed[0].cell.id, cause, tree))

    def _takes_part(self, experiment: Experiment) -> bool:
        """Tell whether the column has the dtype, and a cell of its own.

        What has no cell in any column prepares for another experiment.
        """
        return experiment.dtype in self.dtypes and bool(experiment.cells(self.label) or not experiment.cells(""))

    def _controls(self, experiment: Experiment, replay: Replay) -> None:
        """Mistakes in what is asked, then numbers that are not finite in what was answered."""
        for control in self.shared.plan.controls.get(experiment, ()):
            if not control.takes_part(self.label, self.shared.plan.on_gpu):
                continue
            try:
                result = control.run(experiment, self.label, self._ask)
            except LackingWorkerError:
                continue
            except Exception as error:  # the backend's failure: this mistake was not put to the verdict
                cell = Cell(control.row, control.case, experiment.dtype)
                result = ControlResult(control.name, *cell, self.label, False, str(error))
            self._add([result])
        if experiment in self.shared.plan.spoiled:
            self._planted_into_answers("numbers that are not finite", experiment, spoil(experiment, self.label, replay))
        if self.shared.plan.selection.controls:
            controls = few_bits_controls(experiment, self.label, replay.answers)
            self._planted_into_answers("larger errors", experiment, controls)

    def _planted_into_answers(self, name: str, experiment: Experiment, controls: Iterable[ControlResult]) -> None:
        """``name`` is of what could not be planted."""
        try:
            self._add(controls)
        except LackingWorkerError:
            return
        except Exception as error:
            cell = experiment.cells(self.label)[0]
            self._add([ControlResult(name, *cell, self.label, False, str(error))])

    def _add(self, controls: Iterable[ControlResult]) -> None:
        for control in controls:
            with self.shared.telling() as outcome:
                outcome.controls.append(control)


def dumped(cell: Cell) -> str:
    """The name of a folder for a cell, of characters that every file system and artifact store takes."""
    name = ", ".join(cell)
    return "".join(character if character.isalnum() or character in " ,.-_+@" else "_" for character in name)


def _results(experiment: Experiment, label: str, ask: Ask, divergences: Sequence[Divergence]) -> Iterable[Result]:
    """The results of an experiment, or the failure of all its cells; known divergences by their table."""
    began = time.perf_counter()
    try:
        results = judged(experiment, label, ask)
    except LackingWorkerError as error:
        results = [Result(*cell, label, EXPECTED, f"{EXPECTED}, declared: {error}") for cell in experiment.cells(label)]
    except Exception as error:  # an answer that nothing could be computed from is the backend's failure, not the run's
        known = isinstance(error, WorkerError)
        text = str(error) if known else f"The answer could not be judged: {type(error).__name__}: {error}"
        results = [Result(*cell, label, FAILED, text) for cell in experiment.cells(label)]
    seconds = (time.perf_counter() - began) / (len(results) or 1)
    return [by_the_table(replace(result, seconds=seconds), divergences) for result in results]


def by_the_table(result: Result, divergences: Iterable[Divergence]) -> Result:
    """Known divergences are strict: one that has gone fails until its row is removed."""
    row = of_case(divergences, result.cell.id)
    if row is None:
        return result
    status = {PASSED: SURPRISING}.get(result.status, EXPECTED)
    return replace(result, status=status, reason=f"{result.reason}; {status}, {row}")
