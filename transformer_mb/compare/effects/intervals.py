"""How far paired differences lie from zero, in units of what seeds do."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from ...errors import ConfigError
from ..scipy_stats import stats

LEVEL = 0.95
FEWEST = 2  # seeds that have a standard deviation


class Moved(NamedTuple):
    """A mean of paired differences with its interval, all in units of ``deviation``, the seeds' own."""

    deviation: float
    mean: float
    low: float
    high: float


def moved(base: Sequence[float], swapped: Sequence[float]) -> Moved:
    """Student's t interval of swapped - base, paired by seed.

    The deviation is that of ``base`` over its seeds, taken as known: its own uncertainty is not in the interval.
    """
    if len(base) != len(swapped) or len(base) < FEWEST:
        raise ConfigError(f"Paired losses must be of at least {FEWEST} seeds, got {len(base)} and {len(swapped)}.")
    differences = [after - before for before, after in zip(base, swapped, strict=True)]
    unit = stdev(base)
    half = stats().t.ppf((1.0 + LEVEL) / 2.0, len(base) - 1) * stdev(differences) / len(base) ** 0.5
    return Moved(unit, mean(differences) / unit, (mean(differences) - half) / unit, (mean(differences) + half) / unit)
