"""A unit of a sweep: one run of the whole matrix for one seed, in a process of its own, here or on a node of a cluster."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...columns.column import Column
from ...columns.environment import SETTINGS
from ...columns.messages import Arrays
from ...errors import ParityError
from ...units.unit import Answer, answered_apart, name_of
from ..matrix import run_matrix
from ..report import to_json
from ..selection import Selection
from ..worker import source_digest

ROUNDING = "XLA_FLAGS"  # a user who sets it changes how JAX rounds: it is part of what is measured


@dataclass(frozen=True)
class Unit:
    """A run to do, and all that its result depends on, but for the versions of frameworks, which are not known before.

    Args:
        timeout: seconds that a worker may take for one answer.
        environment: variables of the process. data_digest: of the training job's pairs. source: of this library's code.
    """

    columns: tuple[Column, ...]
    selection: Selection
    timeout: float
    environment: tuple[tuple[str, str], ...]
    data_digest: str | None
    source: str

    @property
    def label(self) -> str:
        return f"seed {self.selection.seed}"

    @property
    def cpus(self) -> int:
        """Return one per column, all of which compute at the same time."""
        return len(self.columns)

    @property
    def description(self) -> dict[str, Any]:
        """Describe it as its file has it. Where the data lies is left out: two machines may keep it in two places."""
        chosen = self.selection
        return {
            "seed": chosen.seed,
            "columns": [asdict(column) for column in self.columns],
            "dtypes": list(chosen.dtypes),
            "cases": chosen.cases,
            "controls": chosen.controls,
            "data": self.data_digest,
            "timeout": self.timeout,
            "environment": dict(self.environment),
            "source": self.source,
        }

    @property
    def name(self) -> str:
        return name_of(self.description)

    @property
    def request(self) -> dict[str, Any]:
        """Return what its process is sent: nothing but what JSON holds, so that any node reads it."""
        return {**self.description, "path": self.selection.data and str(self.selection.data.resolve())}


def units_of(selection: Selection, columns: Sequence[Column], seeds: Iterable[int], timeout: float) -> list[Unit]:
    """Make a unit per seed."""
    environment = {name: os.environ.get(name, value) for name, value in SETTINGS.items()}
    environment |= {ROUNDING: os.environ[ROUNDING]} if ROUNDING in os.environ else {}
    shared = (timeout, tuple(sorted(environment.items())), _file_digest(selection.data), source_digest())
    return [Unit(tuple(columns), replace(selection, seed=seed), *shared) for seed in seeds]


def answered(request: Mapping[str, Any], jobs: int | None) -> Answer:
    """Run a unit: what ``to_json`` tells of it, or why there is nothing to tell, which is a KilledError where its process was
    ended from outside. A framework that crashes or hangs is neither: it ends its own worker, and its cells have failed.
    """
    facts = {**request, "jobs": jobs}
    return answered_apart(f"{__name__}:compute", facts, f"the matrix with seed {request['seed']}", request["environment"])


def compute(arrays: Arrays, request: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Run as the unit's process. Raises ParityError where it would measure something else than was asked for."""
    if request["source"] != source_digest():
        raise ParityError(
            f"Every node must hold the transformer_mb that started the sweep, {request['source'][:12]}, but {platform.node()} "
            f"holds {source_digest()[:12]}."
        )
    data = request["path"] and Path(request["path"])
    if (found := _file_digest(data)) != request["data"]:
        raise ParityError(f"{data} must be the same file on every node, but {platform.node()} holds another one, {found:.12}.")
    selection = Selection(tuple(request["dtypes"]), request["cases"], request["seed"], request["controls"], data)
    columns = [Column(**column) for column in request["columns"]]
    outcome, _ = run_matrix(columns, selection, timeout=request["timeout"], jobs=request["jobs"])
    if outcome.interrupted is not None:
        raise outcome.interrupted
    return {}, {"host": platform.node(), **to_json(outcome, {"seed": selection.seed, "job": selection.job})}


def _file_digest(path: Path | None) -> str | None:
    return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
