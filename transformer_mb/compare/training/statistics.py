"""Paired differences and what can be said of them: equivalence, difference, how many runs either needs, an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np

from ...errors import ConfigError
from ..scipy_stats import stats

LEVEL = 0.05  # of error
POWER = 0.8
RESOLUTION = 1e-6  # a share of a metric below this is the rounding of float32, ten times over
MOST_EXACT = 16  # pairs whose signs are all tried, 2^16 of them
MOST_SEEDS = 9999  # that are proposed as needed
FEWEST_PAIRED = 2  # seeds that have a standard deviation


@dataclass(frozen=True)
class Paired:
    """The differences of pairs, candidate minus reference, in units of the reference's own standard deviation.

    Attributes:
        unit: that deviation, or where it is smaller the rounding of the metric.
        mean, deviation: of the differences. low, high: their mean's 90 % interval, which two one-sided tests at 5 % look at.
        p: of the paired t-test, two-sided. sign_flip: of the exact permutation test, which knows no normal distribution.
    """

    count: int
    unit: float
    mean: float
    deviation: float
    low: float
    high: float
    p: float
    sign_flip: float

    def is_within(self, margin: float) -> bool:
        """Tell whether two one-sided tests at 5 % find the mean inside of the margin on both sides (Schuirmann 1987)."""
        return -margin < self.low and self.high < margin

    def detectable(self, family: int) -> float:
        """The smallest mean difference that as many pairs would find four times in five, as one of ``family`` comparisons."""
        quantiles = _quantile(LEVEL / (2 * family), self.count) + _quantile(1 - POWER, self.count)
        return float(self._error(self.count) * quantiles)

    def needed(self, margin: float, family: int) -> int | None:
        """Return how many pairs decide four times in five, if mean and spread stay those of these pairs; None: too many."""
        counts = np.arange(self.count + 1, MOST_SEEDS + 1)
        error, quantile = np.maximum(self._error(counts), 1e-300), _quantile(LEVEL, counts)
        inside = [stats().t.cdf((margin + side * self.mean) / error - quantile, counts - 1) for side in (-1, 1)]
        same = sum(inside) - 1.0 >= POWER
        different = self._error(counts) * (_quantile(LEVEL / (2 * family), counts) + _quantile(1 - POWER, counts))
        flips = 2.0 ** (1 - np.minimum(counts, 99)) <= LEVEL  # fewer signs cannot say it
        decided = counts[same | ((different <= abs(self.mean)) & flips)]
        return int(decided[0]) if len(decided) else None

    def _error(self, count: Any) -> Any:
        return self.deviation / np.sqrt(count)


def _quantile(beyond: float, count: Any) -> Any:
    """Return what Student's t of this number of pairs exceeds with this probability."""
    return stats().t.isf(beyond, count - 1)


def paired(candidate: Sequence[float], reference: Sequence[float]) -> Paired:
    """Pair values by seed, in the same order; all finite, at least two."""
    before = np.asarray(reference, np.float64)
    unit = float(np.maximum(before.std(ddof=1), RESOLUTION * np.abs(before).max())) or 1.0
    differences = (np.asarray(candidate, np.float64) - before) / unit
    count, mean, deviation = len(before), float(differences.mean()), float(differences.std(ddof=1))
    error = deviation / math.sqrt(count)
    half = float(_quantile(LEVEL, count)) * error
    p = float(mean == 0.0)  # all pairs differ by the same: by nothing, or beyond doubt
    if error > 0.0:
        p = float(2 * stats().t.sf(abs(mean) / error, count - 1))
    return Paired(count, unit, mean, deviation, mean - half, mean + half, p, sign_flip(differences))


def sign_flip(differences: np.ndarray) -> float:
    """Two-sided: how often random signs give a mean as far from 0. Every sign is tried of up to 16 pairs, else 9,999 draws."""
    if len(differences) > MOST_EXACT:
        return _drawn_signs(differences)
    sums = np.abs(_signs(len(differences)) @ differences)
    return float((sums >= sums[0] * (1.0 - 1e-12)).mean())  # equal sums in another order are rounded otherwise


@lru_cache(maxsize=4)
def _signs(count: int) -> np.ndarray:
    """[2^count, count], the first row all 1."""
    return 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)


def _drawn_signs(differences: np.ndarray) -> float:
    result = stats().permutation_test(
        (differences,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=9999,
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust each p for being one of several (Holm 1979): below 0.05, the family's error is."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


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
    if len(base) != len(swapped) or len(base) < FEWEST_PAIRED:
        raise ConfigError(f"Paired losses must be of at least {FEWEST_PAIRED} seeds, got {len(base)} and {len(swapped)}.")
    differences = [after - before for before, after in zip(base, swapped, strict=True)]
    unit = stdev(base)
    half = stats().t.ppf(1.0 - LEVEL / 2.0, len(base) - 1) * stdev(differences) / len(base) ** 0.5
    return Moved(unit, mean(differences) / unit, (mean(differences) - half) / unit, (mean(differences) + half) / unit)
