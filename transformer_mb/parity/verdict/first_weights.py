"""Judges the weights that a model or layer begins with: what is exact exactly, what is drawn by its law, each by itself.

A law is judged by counts: how many numbers are below its quantiles, and how many pairs have equal signs, as independent numbers
of a law that is symmetric about 0 have with probability 1/2. Their limit and its share of false alarms are those of
``independence``. Outside of a bounded law no number may lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..computing.messages import EPS
from .independence import FALSE_ALARM, Count, surprises
from .limits import Verdict

Sizes = tuple[int, ...]
NORMAL = NormalDist()
CUT = 2.0  # standard deviations before a truncated normal is cut, which takes the share LEFT of its deviation
INSIDE = NORMAL.cdf(CUT) - NORMAL.cdf(-CUT)
LEFT = math.sqrt(1.0 - 2.0 * CUT * NORMAL.pdf(CUT) / INSIDE)
QUANTILES = {
    "uniform": lambda share: 2.0 * share - 1.0,
    "normal": NORMAL.inv_cdf,
    "truncated": lambda share: NORMAL.inv_cdf(NORMAL.cdf(-CUT) + share * INSIDE) / LEFT,
}
BOUNDS = {"uniform": 1.0, "normal": math.inf, "truncated": CUT / LEFT}
BELOW, WITHIN = (1 / 4, 1 / 2, 3 / 4), (1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8)  # of numbers, and of their sizes


class Law(NamedTuple):
    """A law of ``QUANTILES``; ``size`` of an array [rows, columns] is a uniform one's half-width, else the deviation."""

    kind: str
    size: Callable[[int, int], float]


@dataclass(frozen=True)
class Start:
    """The laws of linear weights [out, in], linear biases (None: zeros) and tables [rows, D]; a norm begins as the identity."""

    linear: Law
    bias: Law | None
    table: Law


GLOROT = Law("uniform", lambda rows, columns: math.sqrt(6.0 / (rows + columns)))  # Glorot & Bengio 2010, equation 16
BY_INPUTS = Law("uniform", lambda rows, columns: columns**-0.5)
BY_WIDTH = Law("normal", lambda rows, columns: columns**-0.5)
UNIT = Law("normal", lambda rows, columns: 1.0)
SMALL = Law("uniform", lambda rows, columns: 0.07)
# By scheme of ``Backend.build``: what its documentation says.
NEUTRAL = {"xavier": Start(GLOROT, None, BY_WIDTH), "torch_default": Start(BY_INPUTS, BY_INPUTS, UNIT)}
# By backend, of what its framework makes by itself: its documentation, and for NumPy that of backends/numpy/framework.py.
OWN = {
    "numpy": Start(GLOROT, None, UNIT),
    "torch": Start(BY_INPUTS, BY_INPUTS, UNIT),
    "tensorflow": Start(GLOROT, None, Law("uniform", lambda rows, columns: 0.05)),
    "paddle": Start(GLOROT, None, GLOROT),
    "mxnet": Start(SMALL, None, SMALL),
    "jax": Start(Law("truncated", lambda rows, columns: columns**-0.5), None, BY_WIDTH),  # LeCun et al. 1998, section 4.6
}
NORMS = ("", "ln", "norm", "embedding_norm")


@dataclass(frozen=True)
class Drawn:
    """An array that is drawn, by its law; ``shown`` without a row of zeros."""

    name: str
    kind: str
    shown: np.ndarray
    law: Law
    size: float


class First:
    """The arrays of an answer, of which each is drawn or has numbers that are known.

    Args:
        start: None where what a framework begins with is not known here: then norms alone, and that all differ.
        across: two that were made apart differ too; else each model or layer is looked at by itself.
        width: the inputs of a projection that has a bias and no weight of its own, since it is tied.
        padding: by number of what was made, the row of the tables of tokens that is zero.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        start: Start | None,
        across: bool,
        width: int,
        padding: Sequence[int | None],
    ):
        self.start, self.across = start, across
        self.drawn: list[Drawn] = []
        self.wrong = ""  # what is not as it must exactly be, in words
        for name, value in arrays.items():
            number, _, path = name.partition(".")
            layer, _, last = path.rpartition(".")
            part = layer.rpartition(".")[2]
            if part in NORMS:
                self._exactly(name, value, float(last == "weight"))
            elif last == "bias":
                weight = arrays.get(f"{number}.{layer}.weight")
                self._bias(name, value, width if weight is None else weight.shape[1])
            elif part.endswith("embedding"):
                row = padding[int(number)] if part == "embedding" else None
                self._table(name, value, row)
            else:
                self._draw(name, "linear weights", value, self.start.linear if self.start else None)

    def _exactly(self, name: str, value: np.ndarray, number: float) -> None:
        off = np.flatnonzero(value != number)
        if off.size and not self.wrong:
            got = value.flat[off[0]]
            self.wrong = f"{name} must begin as {number:g}, got {got:g} in {off.size} of {value.size} numbers"

    def _bias(self, name: str, value: np.ndarray, inputs: int) -> None:
        if self.start is not None and self.start.bias is None:
            self._exactly(name, value, 0.0)
        elif self.start is not None:
            self._draw(name, "linear biases", value, self.start.bias, inputs)

    def _table(self, name: str, value: np.ndarray, padding: int | None) -> None:
        if padding is not None:
            self._exactly(f"row {padding} of {name}", value[padding], 0.0)
        shown = value if padding is None else np.delete(value, padding, axis=0)
        self._draw(name, "tables", shown, self.start.table if self.start else None, rows=len(value))

    def _draw(
        self, name: str, kind: str, value: np.ndarray, law: Law | None, columns: int | None = None, rows: int | None = None
    ) -> None:
        law = law or Law("any", lambda rows, columns: 1.0)
        size = law.size(rows or value.shape[0], columns or value.shape[-1])
        self.drawn.append(Drawn(name, kind, value, law, size))

    def outside(self, dtype: str) -> str:
        """Name what is beyond the bounds of its law, but for a rounding."""
        for one in self.drawn:
            bound = BOUNDS.get(one.law.kind, math.inf) * one.size * (1.0 + EPS[dtype])
            if (largest := float(np.abs(one.shown).max())) > bound:
                return f"{one.name} must begin within {bound:.4g}, got {largest:.4g}"
        return ""

    def counts(self) -> Iterator[Count]:
        """Count by quantiles per array and over all of a kind, whose sizes are divided out; and neighbors of equal signs."""
        kinds: dict[tuple[str, str], list[np.ndarray]] = {}
        for one in self.drawn:
            numbers = one.shown.astype(np.float64) / one.size
            if one.law.kind in QUANTILES:
                yield from _by_quantiles(one.name, numbers.ravel(), one.law.kind)
                kinds.setdefault((f"all {one.kind}", one.law.kind), []).append(numbers.ravel())
            for axis in range(numbers.ndim):
                pairs = np.arange(numbers.shape[axis] // 2) * 2
                alike = (np.take(numbers, pairs, axis) < 0.0) == (np.take(numbers, pairs + 1, axis) < 0.0)
                yield Count(f"neighbors along axis {axis} of {one.name} of equal sign", int(alike.sum()), alike.size, 0.5)
        for (words, law), parts in kinds.items():
            yield from _by_quantiles(words, np.concatenate(parts), law)

    def most_surprising_pair(self) -> tuple[Count, int]:
        """Compare the signs of all pairs of arrays, number by number from their first on; also return how many pairs."""
        longest = int(np.max([one.shown.size for one in self.drawn]))
        signs = np.array(
            [np.pad(np.where(one.shown < 0.0, -1.0, 1.0).ravel(), (0, longest - one.shown.size)) for one in self.drawn]
        )
        n = np.abs(signs) @ np.abs(signs).T
        alike = (n + signs @ signs.T) / 2.0
        made = np.array([0 if self.across else int(one.name.partition(".")[0]) for one in self.drawn])
        pairs = np.triu(made[:, None] == made, 1)
        surprise = surprises(alike, n, np.array(0.5)) * pairs
        first, second = (int(place) for place in np.unravel_index(surprise.argmax(), surprise.shape))
        words = f"{self.drawn[first].name} has the signs of {self.drawn[second].name}"
        return Count(words, int(alike[first, second]), int(n[first, second]), 0.5), int(pairs.sum())


def _by_quantiles(words: str, numbers: np.ndarray, law: str) -> Iterator[Count]:
    for share in BELOW:
        bound = QUANTILES[law](share)
        yield Count(f"{words} below {bound:.3g} of its size", int((numbers < bound).sum()), numbers.size, share)
    for share in WITHIN:
        bound = QUANTILES[law]((1.0 + share) / 2.0)
        yield Count(f"{words} within {bound:.3g} of its size", int((np.abs(numbers) < bound).sum()), numbers.size, share)


def judge_first(first: First, dtype: str) -> Verdict:
    pair, pairs = first.most_surprising_pair()
    counts = [*first.counts(), pair]
    number = len(counts) - 1 + pairs
    limit = math.log(2.0 * number / FALSE_ALARM)
    worst = sorted(counts, key=lambda count: count.surprise)[-1]
    surprise, reason = worst.surprise, f"{worst}; the most surprising of {number} counts"
    wrong = first.wrong or first.outside(dtype)
    return Verdict(not wrong and surprise <= limit, surprise, limit, wrong or reason)
