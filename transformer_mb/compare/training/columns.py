"""Both ends of a column that trains: its process, and what is asked of it from here."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ...columns.column import Column
from ...columns.gateway import Began, Gateway, by_processes, require_execnet
from ...registry import get_backend
from .job import PreparedJob, TrainingJob
from .runner import Asked, Run, Runner
from .switches import without

Reasons = Mapping[str, str]  # by switch, why it makes no difference to a framework
Plan = Callable[[Reasons], list[Asked]]


def train_in_processes(
    columns: Mapping[str, tuple[Column, Plan]],
    job: TrainingJob,
    timeout: float,
    progress: Callable[[Run], None],
    threads: int = 1,
) -> tuple[list[Run], dict[str, Reasons]]:
    """The runs of all columns, and the reasons of each; as many at a time as there are processors.

    Raises: WorkerError for a process that could not begin, ended, or took more than ``timeout`` seconds for a run.
    """
    require_execnet()
    reasons: dict[str, Reasons] = {}

    def train(label: str, began: Began) -> list[Run]:
        column, plan = columns[label]
        arguments = (column.backend, column.device, column.label, job.to_json())
        with (
            tempfile.TemporaryDirectory() as folder,
            column.open(__name__, arguments, Path(folder), timeout, threads, began) as process,
        ):
            reasons[label] = json.loads(process.greeting)
            return [_told(run, progress) for run in _runs(process, plan(reasons[label]))]

    return [run for found in by_processes(train, columns) for run in found], reasons


def _runs(process: Gateway, asked: Sequence[Asked]) -> Iterator[Run]:
    for one in asked:
        process.send(json.dumps({"seed": one.seed, "own": sorted(one.own)}))
        fields = json.loads(process.receive())
        yield Run(**{**fields, "own": tuple(fields["own"]), "losses": tuple(fields["losses"])})


def _told(run: Run, progress: Callable[[Run], None]) -> Run:
    progress(run)
    return run


def begin(framework: str, device: str | None, column: str, job: str) -> tuple[list[str], Callable[[str], str]]:
    """Begin as the process: which switches the framework has nothing for, and the function that answers with a run.

    ``job`` is a TrainingJob as JSON.
    """
    prepared = PreparedJob(TrainingJob.from_json(job))
    runner = Runner(get_backend(framework, device), column, prepared)

    def run(text: str) -> str:
        asked = json.loads(text)
        return json.dumps(asdict(runner.run(Asked(asked["seed"], frozenset(asked["own"])))))

    return [json.dumps(without(runner.backend.name, prepared.config.norm_eps))], run
