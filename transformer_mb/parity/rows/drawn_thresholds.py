"""The drawn cases that are computed with tiny thresholds of each backend: half of them, by the seed."""

from __future__ import annotations

from collections.abc import Iterable

from ...built_in import PLAIN_DTYPES
from ...random_streams import stream
from ..cells import Experiment
from ..computing.thresholds import TINY

# A life draws its own sizes; layers are met in models.
DRAWN = ("drawn model ", "drawn optimizer ", "drawn recipe", "drawn cache", "drawn search")


def with_drawn_thresholds(experiments: Iterable[Experiment], seed: int) -> list[Experiment]:
    return [one.tiny() if _is_chosen(one, seed) else one for one in experiments]  # type: ignore[attr-defined]


def is_tiny(experiment: Experiment) -> bool:
    cell = next(iter(experiment.cells("")), None)
    return cell is not None and cell.case.endswith(TINY)


def _is_chosen(experiment: Experiment, seed: int) -> bool:
    cell = next(iter(experiment.cells("")), None)
    if cell is None or cell.dtype not in PLAIN_DTYPES or not cell.case.startswith(DRAWN):
        return False
    return bool(stream(seed, "parity", "thresholds", cell.case).integers(2))
