"""Runs a plan: one worker per backend, as many at a time as there are cores, each cell judged as it comes in."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ..columns.column import Column
from ..columns.ending import TIMEOUT
from ..columns.gateway import require_execnet
from .column import ColumnRun
from .outcome import Outcome, Watcher
from .plan import Plan, Selection
from .run import Run, Stopped

# Compiling takes longest; whoever takes longest starts first.
SLOWEST_FIRST = ("jax", "tensorflow", "mxnet", "torch", "paddle", "numpy")


def run_matrix(
    workers: Sequence[Column],
    selection: Selection,
    *,
    timeout: float = TIMEOUT,
    jobs: int | None = None,
    watcher: Watcher | None = None,
    dump: Path | None = None,
) -> tuple[Outcome, Plan]:
    """Run everything that a selection takes on every worker.

    Args:
        timeout: seconds that a worker may take for one request before it counts as hanging.
        jobs: workers that compute at the same time; None: one per core.
        watcher: is told what comes in.
        dump: a folder for inputs and outputs of models that failed, a folder for each.
    Raises: ParityError when the selection takes nothing, or when execnet is not installed.
    """
    plan = plan_of(selection, workers)
    plan.check()
    return run_plan(workers, plan, timeout=timeout, jobs=jobs, watcher=watcher, dump=dump), plan


def plan_of(selection: Selection, workers: Sequence[Column]) -> Plan:
    return Plan(selection, [spec.label for spec in workers], [spec.label for spec in workers if spec.on_gpu])


def run_plan(
    workers: Sequence[Column],
    plan: Plan,
    *,
    timeout: float = TIMEOUT,
    jobs: int | None = None,
    watcher: Watcher | None = None,
    dump: Path | None = None,
) -> Outcome:
    """``run_matrix`` with the plan made. Ctrl-C, or whatever ends it early, is ``interrupted`` of what it returns."""
    require_execnet()
    began = time.perf_counter()
    order = {name: i for i, name in enumerate(SLOWEST_FIRST)}
    with tempfile.TemporaryDirectory(prefix="parity-", ignore_cleanup_errors=True) as folder:
        places, barrier = threading.Semaphore(jobs or os.cpu_count() or 1), threading.Barrier(len(workers))
        run = Run(plan, Path(folder), timeout, dump, watcher or Watcher(), places, barrier)
        try:
            columns = [ColumnRun(spec, run) for spec in workers]
            run.will_execute({column.label: column.dtypes for column in columns})
            _compute(sorted(columns, key=lambda column: order.get(column.spec.backend, -1)))
        except BaseException as error:
            run.abandon()
            run.outcome.interrupted = error
    run.outcome.seconds = time.perf_counter() - began
    unknown = {"error": "the run ended before it had started"}
    run.outcome.backends = {spec.label: run.outcome.backends.get(spec.label, unknown) for spec in workers}
    return run.outcome


def _compute(columns: Sequence[ColumnRun]) -> None:
    """All columns at once, until they have ended, one raises, or a signal comes.

    What a thread has begun in NumPy cannot be ended: a run that is abandoned does not wait for it, nor does the process.
    """
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def compute(column: ColumnRun) -> None:
        try:
            column.run()
        except (Stopped, threading.BrokenBarrierError):
            ended.put(None)
        except BaseException as error:
            ended.put(error)
        else:
            ended.put(None)

    for column in columns:
        threading.Thread(target=compute, args=(column,), name=column.label, daemon=True).start()
    for _ in columns:
        if (error := ended.get()) is not None:
            raise error
