"""Runs a plan: one worker per backend, as many at a time as there are cores, each cell judged as it comes in."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..divergences import DIVERGENCES
from ..errors import ParityError, WorkerError
from ..registry import PLAIN_DTYPES, entries
from .cells import EXPECTED, FAILED, PASSED, SURPRISING, Ask, Cell, ControlResult, Experiment, Result
from .controls.answers import Replay, spoil
from .plan import Plan, Selection
from .verdict.answers import judged
from .workers import TIMEOUT, Worker, WorkerSpec

# Compiling takes longest; whoever takes longest starts first.
SLOWEST_FIRST = ("jax", "tensorflow", "mxnet", "paddle", "torch", "numpy")


@dataclass
class Outcome:
    """The result of a run. ``planned`` is the number of cells that were to be executed."""

    results: list[Result] = field(default_factory=list)
    controls: list[ControlResult] = field(default_factory=list)
    planned: int = 0
    executed: int = 0
    seconds: float = 0.0
    backends: dict[str, dict[str, Any]] = field(default_factory=dict)
    bisections: dict[str, str] = field(default_factory=dict)
    idle: list[str] = field(default_factory=list)  # columns that did nothing of what was asked, and why, one sentence each

    def count(self, *statuses: str) -> int:
        return sum(result.status in statuses for result in self.results)

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if result.status in (FAILED, SURPRISING)]

    @property
    def holds(self) -> bool:
        complete = 0 < self.executed == self.planned == len(self.results)
        return complete and not self.failed and not self.idle and all(control.caught for control in self.controls)


OnResult = Callable[[Result], None]


def run_matrix(
    workers: Sequence[WorkerSpec],
    selection: Selection,
    *,
    timeout: float = TIMEOUT,
    jobs: int | None = None,
    on_result: OnResult = lambda result: None,
    dump: Path | None = None,
) -> tuple[Outcome, Plan]:
    """Run everything that a selection takes on every worker.

    Args:
        timeout: seconds that a worker may take for one request before it counts as hanging.
        jobs: workers that compute at the same time; None: one per core.
        on_result: is called with each result as it comes.
        dump: a folder for inputs and outputs of model cells that failed.
    Raises: ParityError when the selection takes nothing.
    """
    began = time.perf_counter()
    labels = [spec.label for spec in workers]
    plan = Plan(selection, labels)
    if not any(plan.cells(label, selection.dtypes) for label in labels):
        raise ParityError(
            f"No cell was selected: {selection.cases!r} must match an id such as 'layer forward: encoder [float64]'."
        )
    run = _Run(plan, on_result, jobs or os.cpu_count() or 1, timeout, dump)
    order = {name: i for i, name in enumerate(SLOWEST_FIRST)}
    with tempfile.TemporaryDirectory(prefix="parity-") as folder, ThreadPoolExecutor(len(workers)) as pool:
        run.barrier = threading.Barrier(len(workers))
        columns = sorted(workers, key=lambda spec: order.get(spec.backend, -1))
        try:
            list(pool.map(lambda spec: run.column(spec, Path(folder)), columns))
        except BaseException:
            run.abandon()  # Ctrl-C: or leaving this block would wait for every column to end
            raise
    run.outcome.seconds = time.perf_counter() - began
    run.outcome.backends = {label: run.outcome.backends[label] for label in labels}
    return run.outcome, plan


class _Run:
    """The state that the columns' threads share."""

    barrier: threading.Barrier

    def __init__(self, plan: Plan, on_result: OnResult, jobs: int, timeout: float, dump: Path | None):
        self.plan, self.on_result, self.timeout, self.dump = plan, on_result, timeout, dump
        self.places = threading.Semaphore(jobs)
        self.lock = threading.Lock()
        self.outcome = Outcome()
        self.workers: list[Worker] = []

    def abandon(self) -> None:
        """End the workers, so that all that is still to be asked fails at once."""
        for worker in self.workers:
            worker.kill()

    def column(self, spec: WorkerSpec, folder: Path) -> None:
        """One backend from its start to its end. What needs the others' results waits for them."""
        worker, dtypes, ask = None, list(entries()[spec.backend].dtypes or PLAIN_DTYPES), _unable("did not start")
        try:
            with self.places:
                try:
                    worker = Worker(spec, folder, self.timeout)
                    self.workers.append(worker)
                    # What it must offer, and what it offers beside that.
                    dtypes = list({*entries()[spec.backend].dtypes, *worker.greeting["dtypes"]})
                    ask = worker.ask
                    self._note(spec.label, {**worker.greeting, "device_asked_for": spec.device})
                except WorkerError as error:
                    ask = _unable(str(error))
                    self._note(spec.label, {"error": str(error)})
                self._experiments(spec.label, dtypes, ask, after=False)
                others = [e for e in self.plan.controls if e not in self.plan.experiments]
                for experiment in others:
                    self._controls(experiment, spec.label, ask, Replay(ask))
        finally:
            self.barrier.wait()
        with self.places:
            self._experiments(spec.label, dtypes, ask, after=True)
        if worker is not None:
            worker.stop()
        self._note_idleness(spec.label, dtypes)

    def _note_idleness(self, label: str, dtypes: Sequence[str]) -> None:
        """A column may not choose to have nothing to do."""
        with self.lock:
            if not any(result.backend == label for result in self.outcome.results):
                self.outcome.idle.append(f"{label} executed no cell: it offers {', '.join(dtypes) or 'no dtype'}.")
            if self.plan.selection.controls and not any(control.backend == label for control in self.outcome.controls):
                self.outcome.idle.append(f"No negative control ran in {label}: they need {' or '.join(PLAIN_DTYPES)}.")

    def _note(self, label: str, greeting: dict[str, Any]) -> None:
        with self.lock:
            self.outcome.backends[label] = greeting

    def _experiments(self, label: str, dtypes: Sequence[str], ask: Ask, after: bool) -> None:
        takes = self.plan.selection.takes
        for experiment in self.plan.experiments:
            if experiment.after != after or experiment.dtype not in dtypes:
                continue
            planned = [cell for cell in experiment.cells(label) if takes(cell)]
            replay = Replay(ask)
            results = [result for result in _results(experiment, label, replay) if takes(result.cell)]
            with self.lock:
                self.outcome.planned += len(planned)
                self.outcome.executed += len({result.cell for result in results} & set(planned))
                self.outcome.results += results
            for result in results:
                self.on_result(result)
                if result.status == FAILED:
                    self._bisect(experiment, result, label, ask)
            # At once, while what is compiled for the experiment is still there.
            self._controls(experiment, label, ask, replay)

    def _bisect(self, experiment: Experiment, result: Result, label: str, ask: Ask) -> None:
        """Where a failed model first differs; once for each request."""
        from .bisection import bisect, can_bisect

        key = f"{label}, {result.case} [{result.dtype}]"
        if key in self.outcome.bisections or not can_bisect(experiment):
            return
        try:
            text = bisect(experiment, ask, None if self.dump is None else self.dump / label)
        except WorkerError:
            return  # the cell has said it already
        with self.lock:
            self.outcome.bisections[key] = text

    def _controls(self, experiment: Experiment, label: str, ask: Ask, replay: Replay) -> None:
        """Mistakes in what is asked, then numbers that are not finite in what was answered."""
        for control in self.plan.controls.get(experiment, ()):
            try:
                result = control.run(experiment, label, ask)
            except Exception as error:  # the backend's failure: this mistake was not put to the verdict
                cell = Cell(control.row, control.case, experiment.dtype)
                result = ControlResult(control.name, *cell, label, False, str(error))
            self._add([result])
        if experiment in self.plan.spoiled:
            try:
                self._add(spoil(experiment, label, replay))
            except Exception as error:
                cell = experiment.cells(label)[0]
                self._add([ControlResult("numbers that are not finite", *cell, label, False, str(error))])

    def _add(self, results: Iterable[ControlResult]) -> None:
        for result in results:
            with self.lock:
                self.outcome.controls.append(result)


def _unable(reason: str) -> Ask:
    def ask(request: Any) -> Any:
        raise WorkerError(reason)

    return ask


def _results(experiment: Experiment, label: str, ask: Ask) -> Iterable[Result]:
    """The results of an experiment, or the failure of all its cells; known divergences by their table."""
    began = time.perf_counter()
    try:
        results = judged(experiment, label, ask)
    except Exception as error:  # an answer that nothing could be computed from is the backend's failure, not the run's
        known = isinstance(error, WorkerError)
        text = str(error) if known else f"The answer could not be judged: {type(error).__name__}: {error}"
        results = [Result(*cell, label, FAILED, text) for cell in experiment.cells(label)]
    seconds = (time.perf_counter() - began) / (len(results) or 1)
    return [by_the_table(replace(result, seconds=seconds)) for result in results]


def by_the_table(result: Result) -> Result:
    """Known divergences are strict: one that has gone fails until its row is removed."""
    name = result.backend.partition("@")[0]
    row = next((row for row in DIVERGENCES if row.backend == name and row.case == result.cell.id), None)
    if row is None:
        return result
    status = {PASSED: SURPRISING, FAILED: EXPECTED}[result.status]
    return replace(result, status=status, reason=f"{result.reason}; {row.kind}: {row.reason} ({row.link})")
