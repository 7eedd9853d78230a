"""The verdict on each metric of each column, against the reference.

- ``same``: the 90 % interval of the paired differences lies within the margin. This is asked first. A shift that is certain
  but a thousandth of what another seed does, such as a rounding that always goes one way, is a fact about rounding and no
  difference between trainings; only a margin can say so, and more seeds would not take it back.
- ``different``: not the same, and 0 is outside of the 95 % interval (Holm over the columns), and the exact permutation of signs
  agrees at 5 %. The t-test takes differences for normally distributed, which steps and BLEU near 0 are not; the signs assume
  nothing else than that either of a pair might have been the other. Five seeds or fewer cannot come below 5 % there (2 of 2^5
  signs are 6 %), so they can find sameness alone.
- ``undecided``: neither, and how many seeds would decide.
- ``no verdict``: fewer than five seeds; two groups of five runs of one algorithm can look different already (Henderson et al.
  2018).

A column whose loss or score is no longer a number where the reference's is one is different without any statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...random_streams import stream
from .statistics import LEVEL, Paired, holm, paired

FEWEST = 5
MARGIN = 1.25  # reference's seed deviations; 12 pairs that share nothing but the seed decide 1.2
SAME, DIFFERENT, UNDECIDED, NO_VERDICT = ("same", "different", "undecided", "no verdict")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A verdict on one metric of one column.

    Attributes:
        reference_mean, mean: in the metric's own unit; unit: the reference's deviation from seed to seed.
        difference, low, high: mean of the paired differences with its 90 % interval, in that unit; None without a verdict.
        p: two-sided, after Holm. sign_flip: of the exact permutation.
        detectable: the smallest difference that this many seeds would have found four times in five, in that unit.
        needs: seeds that would decide, if it goes on like this; None where it is decided, or where 9,999 would not.
    """

    metric: str
    column: str
    seeds: int
    reference_mean: float
    mean: float
    verdict: str
    unit: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    sign_flip: float | None = None
    detectable: float | None = None
    needs: int | None = None
    reason: str = ""


def lines(
    metric: str, reference: Sequence[float], columns: Mapping[str, Sequence[float]], margin: float = MARGIN
) -> list[Line]:
    """Return a line for each column; values in the order of the seeds, the reference's being the same."""
    judged = {label: _judged(reference, values) for label, values in columns.items()}
    measured = {label: one for label, one in judged.items() if isinstance(one, Paired)}
    adjusted = dict(zip(measured, holm([one.p for one in measured.values()]), strict=True))
    found = []
    for label, one in judged.items():
        means = {"reference_mean": float(np.mean(reference)), "mean": float(np.mean(columns[label]))}
        start = {"metric": metric, "column": label, "seeds": len(reference), **means}
        if isinstance(one, Paired):
            found.append(Line(**start, **_measured(one, adjusted[label], margin, len(measured))))  # type: ignore[arg-type]
        else:
            found.append(Line(**start, verdict=one[0], reason=one[1]))  # type: ignore[arg-type]
    return found


def _judged(reference: Sequence[float], values: Sequence[float]) -> Paired | tuple[str, str]:
    lost = int(np.sum(np.isfinite(reference) & ~np.isfinite(values)))
    if lost:
        return DIFFERENT, f"not a number in {lost} of {len(values)} runs"
    if not np.isfinite(reference).all():
        return NO_VERDICT, "the reference's is not a number"
    if len(reference) < FEWEST:
        return NO_VERDICT, f"needs at least {FEWEST} seeds"
    return paired(values, reference)


def verdict(one: Paired, p: float, margin: float) -> str:
    """``p`` after Holm. Why in this order: see the module."""
    if one.is_within(margin):
        return SAME
    return DIFFERENT if p <= LEVEL and one.sign_flip <= LEVEL else UNDECIDED


def _measured(one: Paired, p: float, margin: float, family: int) -> dict[str, object]:
    found = verdict(one, p, margin)
    return {
        "verdict": found,
        "unit": one.unit,
        "difference": one.mean,
        "low": one.low,
        "high": one.high,
        "p": p,
        "sign_flip": one.sign_flip,
        "detectable": one.detectable(family),
        "needs": one.needed(margin, family) if found == UNDECIDED else None,
    }


SPLITS = 200
FEWEST_SPLIT = 12  # seeds; halves of five can never be called different, and would show nothing


def false_alarms(values: Sequence[float], margin: float = MARGIN, splits: int = SPLITS) -> float | None:
    """The share of random splits into halves, paired at random, that are called different; None of fewer than 12 seeds.

    Of halves of six by 2/64 on average at most: the permutation of signs is exact here, since each pair's order is random.
    """
    if len(values) < FEWEST_SPLIT:
        return None
    generator, half, alarms = stream("splits"), len(values) // 2, 0
    for _ in range(splits):
        order = generator.permutation(np.asarray(values))
        one = paired(order[:half].tolist(), order[half : 2 * half].tolist())
        alarms += verdict(one, one.p, margin) == DIFFERENT
    return alarms / splits


def self_control(by_metric: Mapping[str, Sequence[float]], margin: float = MARGIN) -> dict[str, float | None]:
    return {metric: false_alarms(values, margin) for metric, values in by_metric.items()}
