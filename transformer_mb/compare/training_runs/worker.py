"""The process that trains with one framework."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from ...registry import get_backend
from .job import TrainingJob
from .own_parts import without
from .prepared import PreparedJob
from .run import Asked
from .runner import Runner


def begin(framework: str, device: str | None, column: str, job: str) -> tuple[list[str], Callable[[str], str]]:
    """Begin as the process: which switches the framework has nothing for, and the function that answers with a run.

    ``job`` is a TrainingJob as JSON.
    """
    prepared = PreparedJob(TrainingJob.from_json(job))
    runner = Runner(get_backend(framework, device), column, prepared)

    def run(text: str) -> str:
        asked = json.loads(text)
        return json.dumps(asdict(runner.run(Asked(asked["seed"], frozenset(asked["own"]), asked["planted"]))))

    return [json.dumps(without(runner.backend.name, prepared.config.norm_eps))], run
