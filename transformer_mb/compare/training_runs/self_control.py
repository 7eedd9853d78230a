"""The reference against itself: how often would its own seeds, split at random, be called different?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...random_streams import stream
from .statistics import paired
from .verdicts import DIFFERENT, MARGIN, verdict

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
