"""Judges whether masks are drawn at their rates, each by itself: by the most surprising of many counts.

Of n independent numbers each true with probability p, a share of at least a > p is as probable as exp(-n KL(a, p)) or less,
with KL(a, p) = a ln(a / p) + (1 - a) ln((1 - a) / (1 - p)), and so is a share of at most a < p (Chernoff 1952, Hoeffding 1963,
theorem 1). The surprise of a count is n KL(a, p). So of k counts of right masks, independent of each other or not, one has
a surprise above ln(2 k / q) with a probability of at most q: 2 k exp(-ln(2 k / q)), by the sum over all of them (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..computing.mask_reading import DROPPED, KEPT, UNREAD
from .limits import Verdict

FALSE_ALARM = 1e-6  # q: at most one run of a column in a million


@dataclass(frozen=True)
class Count:
    """The true ones of n numbers, each of which is true with this probability."""

    words: str
    true: int
    n: int
    probability: float

    @property
    def surprise(self) -> float:
        return float(surprises(np.array(self.true), np.array(self.n), np.array(self.probability)))

    def __str__(self) -> str:
        return f"{self.words}: {self.true / self.n:.3f} of {self.n}, expected {self.probability:.3f}"


def surprises(true: np.ndarray, n: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """n KL(true / n, probability), 0 where n is."""
    share = true / np.maximum(n, 1)
    terms = zip((share, 1.0 - share), (probability, 1.0 - probability), strict=True)
    return n * sum(part * np.log(np.where(part > 0.0, part, 1.0) / of) for part, of in terms)


def judge_masks(masks: Mapping[str, np.ndarray], rates: Mapping[str, float]) -> Verdict:
    """Judge masks by site, [seeds, steps, parts, rows, ...] of KEPT, DROPPED and UNREAD, and the rate of each site."""
    pair, pairs = _most_surprising_pair(masks, rates)
    counts = [count for count in (*_kept(masks, rates), *_neighbors(masks, rates), pair) if count.n]
    number = len(counts) - 1 + pairs
    limit = math.log(2.0 * number / FALSE_ALARM)
    worst = max(counts, key=lambda count: count.surprise)
    return Verdict(worst.surprise <= limit, worst.surprise, limit, f"{worst}; the most surprising of {number} counts")


def _kept(masks: Mapping[str, np.ndarray], rates: Mapping[str, float]) -> Iterator[Count]:
    """Count per site, and over all sites of a rate together."""
    groups = {f"kept by {site}": [site] for site in masks}
    for rate in dict.fromkeys(rates.values()):
        groups[f"kept at rate {rate:g}"] = [site for site in masks if rates[site] == rate]
    for words, sites in groups.items():
        read = np.concatenate([masks[site][masks[site] != UNREAD] for site in sites])
        yield Count(words, int((read == KEPT).sum()), read.size, 1.0 - rates[sites[0]])


def _neighbors(masks: Mapping[str, np.ndarray], rates: Mapping[str, float]) -> Iterator[Count]:
    """Compare per site and axis, be it of heads or tokens: the first with the second, the third with the fourth."""
    for site, mask in masks.items():
        for axis in range(4, mask.ndim):
            pairs = mask.shape[axis] // 2
            first, second = (np.take(mask, np.arange(pairs) * 2 + start, axis) for start in (0, 1))
            read = (first != UNREAD) & (second != UNREAD)
            agreeing = int((first == second)[read].sum())
            words = f"neighbors along axis {axis - 4} of {site} agree"
            yield Count(words, agreeing, int(read.sum()), _agreement(1.0 - rates[site], 1.0 - rates[site]))


def _most_surprising_pair(masks: Mapping[str, np.ndarray], rates: Mapping[str, float]) -> tuple[Count, int]:
    """Compare all masks of rows, number by number from their first on; also return how many pairs there are."""
    longest = max(math.prod(mask.shape[4:]) for mask in masks.values())
    names, rows, kept = [], [], []
    for site, mask in masks.items():
        for where in np.ndindex(mask.shape[:4]):
            names.append(f"{site} in seed {where[0]}, step {where[1]}, part {where[2]}, row {where[3]}")
            numbers = mask[where].reshape(-1)
            rows.append(np.pad(numbers, (0, longest - numbers.size), constant_values=UNREAD))
            kept.append(1.0 - rates[site])
    numbers, share = np.array(rows), np.array(kept)
    both = [
        (each @ each.T).astype(np.int64)
        for each in (1.0 * (numbers == KEPT), 1.0 * (numbers == DROPPED), 1.0 * (numbers != UNREAD))
    ]
    agreeing, n = both[0] + both[1], both[2]
    expected = _agreement(share[:, None], share)
    surprise = np.triu(surprises(agreeing, n, expected), 1)
    one, other = (int(place) for place in np.unravel_index(surprise.argmax(), surprise.shape))
    words = f"{names[one]} agrees with {names[other]}"
    worst = Count(words, int(agreeing[one, other]), int(n[one, other]), float(expected[one, other]))
    return worst, len(rows) * (len(rows) - 1) // 2


def _agreement(one: Any, other: Any) -> Any:
    """Return the probability that two numbers agree which are kept with these probabilities, each by itself."""
    return one * other + (1.0 - one) * (1.0 - other)
