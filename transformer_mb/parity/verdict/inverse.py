"""The token that a number draws, by the rule as it is written; and which others it may, where the choice is a near-tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def drawn_by(number: float, logits: np.ndarray, options: Mapping[str, Any]) -> int:
    """The token of a number from 0 to 1, by logits [V] of which those that may not be drawn are -inf.

    Tokens stand in the order of their logits, of equal ones the lower id first. The ``top_k`` first are kept, and of these the
    fewest whose probabilities sum to at least ``top_p`` of theirs. The token is the first one up to which the kept ones'
    probabilities, scaled to sum 1, sum to more than the number.
    """
    (token,) = drawn_within(number, number, logits, options, 0.0)
    return token


def drawn_within(low: float, high: float, logits: np.ndarray, options: Mapping[str, Any], off: float) -> set[int]:
    """The tokens of all numbers from low to high, whatever the errors of logits, each up to ``off``.

    A probability, and a sum of some, is then off by a factor of exp(2 off / temperature) at most.
    """
    tokens: set[int] = set()
    slack = float(np.expm1(2.0 * off / options["temperature"]))
    for ids in _orders(logits, off):
        falling = logits[ids] / options["temperature"]
        weights = np.exp(falling - falling[0])[: options["top_k"]]
        before = (np.cumsum(weights) - weights) / weights.sum()
        fewest, most = (max(1, int((before < options["top_p"] + by).sum())) for by in (-slack, slack))
        for size in range(fewest, most + 1):
            up_to = np.cumsum(weights[:size]) / weights[:size].sum()
            possible = int((weights[:size] > 0.0).sum())
            places = (min(int((up_to <= number).sum()), possible - 1) for number in (low - slack, high + slack))
            tokens |= set(ids[slice(next(places), next(places) + 1)].tolist())
    return tokens


def _orders(logits: np.ndarray, off: float) -> Iterator[np.ndarray]:
    """The order of the logits, and the same with two neighbors swapped that errors may have."""
    ids = np.argsort(-logits, kind="stable")
    yield ids
    apart = logits[ids][:-1] - np.maximum(logits[ids][1:], -1e300)
    for place in np.flatnonzero(apart <= 2.0 * off) if off else ():
        swapped = ids.copy()
        swapped[[place, place + 1]] = ids[[place + 1, place]]
        yield swapped
