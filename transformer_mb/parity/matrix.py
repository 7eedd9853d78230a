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
from .column import ColumnRun, Run, Stopped
from .outcome import Outcome, Watcher
from .plan import Plan
from .selection import Selection

# Compiling takes longest; the slowest column starts first.
SLOWEST_FIRST = ("jax", "tensorflow", "mxnet", "torch", "paddle", "numpy")


def run_matrix(
    columns: Sequence[Column],
    selection: Selection,
    *,
    plan: Plan | None = None,
    timeout: float = TIMEOUT,
    jobs: int | None = None,
    progress: Watcher | None = None,
    dump: Path | None = None,
) -> tuple[Outcome, Plan]:
    """Run everything that a selection takes on every column, each in a process of its own.

    Args:
        plan: of the selection, where it was made and checked before.
        timeout: seconds that a worker may take for one request before it counts as hanging.
        jobs: workers that compute at the same time; None: one per core.
        progress: called with each result as it comes in.
        dump: a folder for inputs and outputs of models that failed, a folder for each.
    Returns: the outcome, whose ``interrupted`` is what ended the run early, such as Ctrl-C; and the plan that was run.
    Raises: ParityError when the selection takes nothing, or when execnet is not installed.
    """
    if plan is None:
        plan = plan_of(selection, columns)
        plan.check()
    require_execnet()
    began = time.perf_counter()
    order = {name: i for i, name in enumerate(SLOWEST_FIRST)}
    with tempfile.TemporaryDirectory(prefix="parity-", ignore_cleanup_errors=True) as folder:
        places, barrier = threading.Semaphore(jobs or os.cpu_count() or 1), threading.Barrier(len(columns))
        run = Run(plan, Path(folder), timeout, dump, progress or Watcher(), places, barrier)
        try:
            runs = [ColumnRun(column, run) for column in columns]
            run.will_execute({one.label: one.dtypes for one in runs})
            _compute(sorted(runs, key=lambda one: order.get(one.column.backend, -1)))
        except BaseException as error:
            run.abandon()
            run.outcome.interrupted = error
    run.outcome.seconds = time.perf_counter() - began
    unknown = {"error": "the run ended before it had started"}
    run.outcome.backends = {column.label: run.outcome.backends.get(column.label, unknown) for column in columns}
    return run.outcome, plan


def plan_of(selection: Selection, columns: Sequence[Column]) -> Plan:
    return Plan(selection, [column.label for column in columns], [column.label for column in columns if column.on_gpu])


def _compute(columns: Sequence[ColumnRun]) -> None:
    """Compute all columns at once, until they have ended, one raises, or a signal comes.

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
