"""The loop of a process that trains with one framework."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ...registry import get_backend
from .job import TrainingJob
from .own_parts import without
from .prepared import PreparedJob
from .run import Asked
from .runner import Runner


def serve(channel: Any, framework: str, device: str | None, column: str) -> None:
    """Take the job, tell which switches the framework has nothing for, then a run for all that is asked until the end."""
    prepared = PreparedJob(TrainingJob.from_json(channel.receive()))
    backend = get_backend(framework, device)
    channel.send(json.dumps(without(backend.name, prepared.config.norm_eps)))
    runner = Runner(backend, column, prepared)
    for text in channel:
        asked = json.loads(text)
        run = runner.run(Asked(asked["seed"], frozenset(asked["own"]), asked["planted"]))
        channel.send(json.dumps(asdict(run)))
