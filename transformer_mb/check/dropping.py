"""Dropout with the same masks on both sides: each place that drops asks for a mask, in the order of the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..random_streams import stream


class Masks:
    """The masks of one run, by a seed and the number of the place that drops.

    Attributes:
        places: the shape and the rate of each so far; frameworks that agree have the same.
    """

    def __init__(self, seed: int):
        self.seed = seed
        self.places: list[tuple[list[int], float]] = []

    def mask(self, shape: Sequence[int], rate: float) -> np.ndarray:
        """Return booleans, True for what stays."""
        random = stream("dropout", self.seed, len(self.places))
        self.places.append(([int(size) for size in shape], round(float(rate), 6)))
        return random.random(tuple(int(size) for size in shape)) >= rate


def differing(reference: Sequence[tuple[list[int], float]], candidate: Sequence[tuple[list[int], float]]) -> str:
    """Say in words where the places of two runs differ first; nothing where they agree."""
    for number, (ours, theirs) in enumerate(zip(reference, candidate, strict=False), 1):
        if list(ours) != list(theirs):
            return f"place {number} that drops must be {_shown(*ours)}, as the reference's, got {_shown(*theirs)}"
    if len(reference) != len(candidate):
        return f"the reference drops at {len(reference)} places, the candidate at {len(candidate)}"
    return ""


def _shown(shape: list[int], rate: float) -> str:
    return f"[{', '.join(map(str, shape))}] at rate {rate:g}"
