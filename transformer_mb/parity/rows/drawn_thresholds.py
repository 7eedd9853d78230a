"""The drawn cases that are computed with tiny thresholds of each backend: half of them, by the seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...built_in import PLAIN_DTYPES
from ...random_streams import stream
from ..cells import Experiment
from ..computing.thresholds import TINY
from ..verdict.comparison import Comparison
from .tokens import Decoding

# A life draws its own sizes; layers are met in models.
DRAWN = ("drawn model ", "drawn optimizer ", "drawn recipe", "drawn cache", "drawn search")


def with_drawn_thresholds(experiments: Iterable[Experiment], seed: int) -> list[Experiment]:
    return [_tiny(one) if _is_chosen(one, seed) else one for one in experiments]


def is_tiny(experiment: Experiment) -> bool:
    return any(cell.case.endswith(TINY) for cell in experiment.cells(""))


def _is_chosen(experiment: Experiment, seed: int) -> bool:
    cell = next(iter(experiment.cells("")), None)
    if cell is None or cell.dtype not in PLAIN_DTYPES or not cell.case.startswith(DRAWN):
        return False
    return bool(stream(seed, "parity", "thresholds", cell.case).integers(2))


def _tiny(experiment: Experiment) -> Experiment:
    assert isinstance(experiment, Comparison | Decoding)
    case = f"{experiment.case}, {TINY}"
    if isinstance(experiment, Decoding):
        search = replace(experiment.search, setting=TINY)
        return Decoding(experiment.row, case, experiment.dtype, experiment.seed, search)
    return replace(experiment, case=case, make=lambda *attempt: experiment.make(*attempt).in_setting(TINY))
