"""Limits of errors, and why a measured one is fine or not. In float64 they are fixed by row: see ladder.py."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ..cells import FAILED, PASSED, Cell, Result
from ..computing.messages import EPS
from ..ladder import LADDER

# Outputs near zero are measured against this many times the root of their size, gradients against the whole gradient.
FLOOR = 1e-2
TINY = float(np.finfo(np.float64).tiny)
CANCELED = 1e-13  # of the whole gradient, or less: a zero but for what float64 rounds


class Errors(NamedTuple):
    """Two relative errors of one result: a norm hides a single wrong number among many, which the second shows.

    Args:
        norm: of all n numbers together, ||got - reference|| / ||reference||.
        element: of the number that is furthest off, |got - reference| / (||reference|| / sqrt(n)): never less than ``norm``.
    """

    norm: float
    element: float


NONE = Errors(0.0, 0.0)
ByArray = Mapping[str, Errors]  # of each array of an answer that a row compares


def error(got: np.ndarray, reference: np.ndarray, floor: float | None = None) -> float:
    """The relative error by norm alone."""
    return errors(got, reference, floor).norm


def errors(got: np.ndarray, reference: np.ndarray, floor: float | None = None) -> Errors:
    """Relative to max(||reference||, floor); the floor is 1e-2 sqrt(n) for an output of n numbers.

    Raises: AssertionError when the shapes differ, which no number could say. NaN in ``got`` gives NaN.
    """
    got, reference = np.asarray(got, np.float64), np.asarray(reference, np.float64)
    assert got.shape == reference.shape, f"shape {list(reference.shape)} was expected, got {list(got.shape)}"
    floor = FLOOR * np.sqrt(reference.size) if floor is None else floor
    # Of a whole gradient that is zero the error of zero is 0, and that of anything else beyond every limit.
    off, size = got - reference, worst([float(np.linalg.norm(reference)), floor, TINY])
    furthest = np.abs(off).max(initial=0.0) * np.sqrt(reference.size)
    return Errors(float(np.linalg.norm(off) / size), float(furthest / size))


def worst(errors: Iterable[float]) -> float:
    """The largest; NaN where one is NaN, which Python's ``max`` loses. Raises ValueError when there is none to compare."""
    return float(np.max(np.fromiter(errors, np.float64)))


def worst_errors(errors: Iterable[Errors]) -> Errors:
    """The largest of each figure."""
    norms, elements = zip(*errors, strict=True)
    return Errors(worst(norms), worst(elements))


def worst_by_array(answers: Sequence[ByArray]) -> dict[str, Errors]:
    """The largest of each figure over several answers with the same arrays."""
    return {name: worst_errors(answer[name] for answer in answers) for name in answers[0]}


def norm(arrays: Iterable[np.ndarray]) -> float:
    """Return the norm of all numbers of some arrays together."""
    return float(np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in arrays)))


def gradient_floor(reference: np.ndarray, whole: float) -> float:
    """Return 1e-2 of the whole gradient's norm, for small gradients are rounding noise of large ones.

    All of it where the reference is zero but for float64's rounding: what comes of numbers that cancel is zero in one
    implementation and noise in another, and NumPy's own noise says nothing of theirs.
    """
    return FLOOR * whole if norm([reference]) > CANCELED * whole else whole


def gradient_errors(got: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], least: float = 0.0) -> ByArray:
    """Measure arrays whose sizes are compared with that of all of them together, or with ``least``."""
    assert list(got) and set(got) == set(reference)
    whole = worst([norm(reference.values()), least, TINY])
    return {name: errors(got[name], value, gradient_floor(value, whole)) for name, value in reference.items()}


# float32: this many times the error of NumPy in float32 on the same case, and on perturbed copies of it. One run alone is one
# draw of rounding errors: over 16 seeds of 400 cells, torch's worst was 8.4 times NumPy's single draw, and 2.8 times the
# largest of the draws.
TIMES_NUMPY = 4.0
PERTURBED_COPIES = 4  # the same case with inputs and weights off by one unit in the last place, up or down at random
# The largest of five draws is sometimes small by chance: with TensorFlow and JAX, over 14 seeds of 1,490 cells, four cells came
# to between 2 and 2.6 times it, and to 0.9 to 1.8 times the largest of seventeen. So what is over its limit is judged again by
# more copies, unless it is so far over that no number of copies would help. What hardly depends on the last places of the
# inputs, such as a weight of 0.995, is rounded alike in all copies: in 25 seeds of four backends a gradient in float32 came to
# 4.3 times the largest of seventeen, in three of them alike, and at another seed a loss in float16 to 2.9 times. So it is also
# judged by as many answers of NumPy whose results are rounded at random: their largest errors were 6 and 2 times as large.
# In float32 one more answer of NumPy's adds the terms of each product in turn: of 4,096 terms that loses 10 eps by norm, as MKL
# does on an AMD EPYC where one factor has seven columns, and 2 eps in blocks, as NumPy's own kernel adds.
# Where only products are rounded, there are twice as many copies instead: a loss came to 2.1 times the largest of seventeen
# draws, and to 1.3 times that of thirty-three.
MORE_COPIES = 16
JUDGED_AGAIN = 10.0  # times its limit
FLOOR_EPS = 3.0  # the least machine epsilons that a baseline error counts as
CAP = 1e-5  # the limit is never more, unless the exact result itself moves by a quarter of it from copy to copy
# Of gradients it is more: the small ones are measured against 1e-2 of the whole, and 1e-5 of that is less than one eps of it.
CAPS = {"gradients": FLOOR_EPS * EPS["float32"] / FLOOR}
# A fixed limit by norm is this many times as much for a single element: of n errors that are nearly normal the largest is about
# sqrt(2 log n) times their root mean square, 4.8 times for 100,000 of them.
TIMES_NORM = 5.0
# Formats of few bits: this many times the error of NumPy with every operation's result rounded, the largest over the perturbed
# copies too: against a single draw one cell of 1,200 of torch's, over 18 seeds, came to 2.2 times in one element, and one of
# JAX' to 2.4 times by norm. How far a whole last place of the inputs moves the exact result is no part of it: a rounding is
# half of that, and by twice that a gradient of zeros could pass. What is computed in float32 by contract, the loss of given
# logits and an update, is held to float32's rule, its result before the one rounding to the format.
TIMES_ROUNDED = 2.0
# Each array of an answer is held to what NumPy loses in that array: all of them together, the root mean square of these ratios,
# to as many times, and each by itself to twice as many, since of a hundred arrays some have the luck of a small yardstick. The
# worst array's limit alone would let pass what is wrong in all others.
TIMES_ONE_ARRAY = 2.0 * TIMES_ROUNDED
# Never more by norm, for a wrong result has 1: cases are drawn until the rule asks for no more (see comparison.py).
CAP_ROUNDED = 0.3


@dataclass(frozen=True)
class Baseline:
    """The figures that limits are made of: relative errors measured on the reference's side of one case.

    Args:
        numpy: of the NumPy backend in float32, the largest over the case and its perturbed copies; for bfloat16 and float16
            of NumPy rounded to the format.
        rounding: of the exact result, off by what one rounding to the dtype may do.
        copies: how far the exact results of the perturbed copies are from that of the case; none in formats of few bits, and
            for updates.
        arrays: in formats of few bits, ``numpy`` of each array by itself.
    """

    numpy: Errors = NONE
    rounding: Errors = NONE
    copies: Errors = NONE
    arrays: ByArray = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """``reason`` is the figure with what makes it fine or not; ``by_norm`` the limit by norm, whichever figure is reported."""

    passed: bool
    error: float
    limit: float
    reason: str
    by_norm: float | None = None

    def of(self, cell: Cell, backend: str) -> Result:
        status = PASSED if self.passed else FAILED
        return Result(*cell, backend, status, self.reason, self.error, self.limit, limit_by_norm=self.by_norm)

    def at_kinks(self, flipped: int) -> Verdict:
        """Say in the reason how many inputs of ReLUs were taken on the other side of zero."""
        return replace(self, reason=f"{self.reason}; ReLU's kinks on their other side: {flipped}") if flipped else self

    @property
    def share(self) -> float:
        """The error divided by its limit; infinite where one of them is not finite."""
        return self.error / self.limit if np.isfinite([self.error, self.limit]).all() else float("inf")


# In the words of a reason.
FIGURES = {"norm": "by norm", "element": "in one element"}
TIMES = {"norm": 1.0, "element": TIMES_NORM}  # of a fixed limit


def judge(row: str, dtype: str, errors: Errors, baseline: Baseline, arrays: ByArray = MappingProxyType({})) -> Verdict:
    """Hold both figures of an error to the limits of their row and dtype: the verdict on the one that takes most of its own.

    So are those of the answer's ``arrays``, where the baseline has them. What is not finite never passes, on either side.
    """
    yardsticks = chain(baseline.numpy, baseline.rounding, baseline.copies, *baseline.arrays.values())
    if not np.isfinite([*errors, *yardsticks]).all():
        return Verdict(False, errors.norm, float("nan"), f"not finite: the error is {errors.norm:.1e}, its {baseline}")
    whole = [_judge(row, dtype, figure, errors, baseline) for figure in FIGURES]
    found = [*whole, *(_by_array(dtype, arrays, baseline.arrays) if len(baseline.arrays) > 1 else ())]
    return replace(sorted(found, key=lambda one: one.share)[-1], by_norm=whole[0].limit)


def judge_by_draws(
    row: str, dtype: str, errors: Errors, baseline: Callable[..., Baseline], arrays: ByArray = MappingProxyType({})
) -> Verdict:
    """Judge by the baseline; what is over its limit by little is judged again by that of ``MORE_COPIES``."""
    verdict = judge(row, dtype, errors, baseline(), arrays)
    if verdict.passed or not verdict.share <= JUDGED_AGAIN:
        return verdict
    return judge(row, dtype, errors, baseline(copies=MORE_COPIES), arrays)


def lifts_the_cap(row: str, copies: Errors) -> bool:
    """Tell whether perturbed copies that moved so far raise the limit of float32 above its cap."""
    return worst([copies.norm, copies.element / TIMES_NORM]) * TIMES_NUMPY > CAPS.get(LADDER[row].measured, CAP)


def meets_the_cap(row: str, dtype: str, baseline: Baseline) -> bool:
    """Tell whether the cap allows less than the multiple of NumPy's own error that every backend is to have.

    The loss of one confident token does: 1 - p is all that is left of it, of which float32 knows no more than its eps beside 1.
    So does what is not finite: beside a row of zeros, the inverse of a deviation is beyond float16.
    """
    if dtype == "float64":
        return False
    times = TIMES_NUMPY if dtype == "float32" else TIMES_ROUNDED
    figures = FIGURES if dtype == "float32" else ("norm",)
    return not all(times * getattr(baseline.numpy, figure) <= _cap(row, dtype, figure, baseline) for figure in figures)


def least_measure(row: str, dtype: str) -> float:
    """Return what NumPy's error counts as at least, in a format of few bits.

    A loss is a sum in float32: the format's eps would let pass one that was computed in the format.
    """
    return FLOOR_EPS * EPS["float32"] if LADDER[row].measured == "loss" else EPS[dtype]


def _by_array(dtype: str, arrays: ByArray, numpy: ByArray) -> Iterator[Verdict]:
    """Judge per figure the array that is furthest off by its own yardstick, and all of them together."""
    names = list(numpy)
    for number, words in enumerate(FIGURES.values()):
        off = np.array([arrays[name][number] for name in names])
        own = np.maximum([numpy[name][number] for name in names], EPS[dtype])
        ratios = off / own
        worst_one = int(ratios.argmax())
        ratio, error = float(ratios[worst_one]), float(off[worst_one])
        text = f"{error:.1e} {words} of {names[worst_one]}; {ratio:.2g}x rounded NumPy there; limit {TIMES_ONE_ARRAY:g}x"
        yield Verdict(ratio <= TIMES_ONE_ARRAY, error, float(TIMES_ONE_ARRAY * own[worst_one]), text)
        ratio, error = _root_mean_square(ratios), _root_mean_square(off)
        text = f"{error:.1e} {words} over {len(names)} arrays; {ratio:.2g}x rounded NumPy in each; limit {TIMES_ROUNDED:g}x"
        limit = TIMES_ROUNDED * error / ratio if ratio else TIMES_ROUNDED * _root_mean_square(own)
        yield Verdict(ratio <= TIMES_ROUNDED, error, limit, text)


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _judge(row: str, dtype: str, figure: str, errors: Errors, baseline: Baseline) -> Verdict:
    error, numpy, copies = (getattr(pair, figure) for pair in (errors, baseline.numpy, baseline.copies))
    if dtype == "float64":
        # Ill-conditioned rows: what their inputs lose in the last place, the proof allows them to lose.
        limit = LADDER[row].limit * worst([TIMES[figure], copies / EPS[dtype]])
        why = f"limit {limit:.0e}"
    elif dtype == "float32":
        limit, why = _float32(error, numpy, copies, _cap(row, dtype, figure, baseline))
    else:
        measure, cap = worst([numpy, least_measure(row, dtype)]), _cap(row, dtype, figure, baseline)
        limit = cap if cap < TIMES_ROUNDED * measure else TIMES_ROUNDED * measure
        why = f"limit {cap:g}" if limit == cap else f"{error / measure:.2g}x rounded NumPy; limit {TIMES_ROUNDED:g}x"
    return Verdict(error <= limit, error, limit, f"{error:.1e} {FIGURES[figure]}; {why}")


def _cap(row: str, dtype: str, figure: str, baseline: Baseline) -> float:
    """The most that a limit can be, however much NumPy loses."""
    if dtype != "float32":
        return TIMES[figure] * CAP_ROUNDED
    rounding, copies = (getattr(pair, figure) for pair in (baseline.rounding, baseline.copies))
    return worst([TIMES[figure] * CAPS.get(LADDER[row].measured, CAP), TIMES_NUMPY * rounding, TIMES_NUMPY * copies])


def _float32(error: float, numpy: float, copies: float, cap: float) -> tuple[float, str]:
    floor = FLOOR_EPS * EPS["float32"]
    names = {numpy: "NumPy float32", copies: "the copies", floor: f"the floor of {FLOOR_EPS:g} eps"}
    measure = worst(names)
    if cap < TIMES_NUMPY * measure:
        return cap, f"limit {cap:.1e}"
    return TIMES_NUMPY * measure, f"{error / measure:.2g}x {names[measure]}; limit {TIMES_NUMPY:g}x"


Draw = TypeVar("Draw")


class Draws(Generic[Draw]):
    """``draw`` makes one by its number: that of the case itself is 0, that of its perturbed copy n is n + 1."""

    def __init__(self, draw: Callable[[int], Draw]):
        self._draw, self._lock = draw, threading.Lock()
        self.made: list[Draw] = []

    def with_copies(self, copies: int) -> list[Draw]:
        """Return the draws of the case and of this number of its copies."""
        with self._lock:
            self.made += [self._draw(number) for number in range(len(self.made), copies + 1)]
            return self.made[: copies + 1]
