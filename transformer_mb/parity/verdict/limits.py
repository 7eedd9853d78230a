"""How large an error may be, and why a measured one is fine or not. In float64 by row: see ladder.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..cells import FAILED, PASSED, Cell, Result
from ..computing.precision import EPS
from ..ladder import LADDER
from .measure import FLOOR, NONE, Errors, worst

# float32: so many times the error of NumPy in float32 on the same case, and on perturbed copies of it. One run alone is one
# draw of rounding errors: over 16 seeds of 400 cells, torch's worst was 8.4 times NumPy's single draw, and 2.8 times the
# largest of the draws.
TIMES_NUMPY = 4.0
PERTURBED_COPIES = 4  # the same case with inputs and weights off by one unit in the last place, up or down at random
# The largest of five draws is sometimes small by chance: with TensorFlow and JAX, over 14 seeds of 1,490 cells, four cells came
# to between 2 and 2.6 times it, and to 0.9 to 1.8 times the largest of seventeen. So what is over its limit is judged again by
# more copies, unless it is so far over that no number of copies would help.
MORE_COPIES = 16
JUDGED_AGAIN = 10.0  # times its limit
FLOOR_EPS = 3.0  # a baseline error counts as at least so many machine epsilons
CAP = 1e-5  # the limit is never more, unless the exact result itself moves by a quarter of it from copy to copy
# Of gradients it is more: the small ones are measured against 1e-2 of the whole, and 1e-5 of that is less than one eps of it.
CAPS = {"gradients": FLOOR_EPS * EPS["float32"] / FLOOR}
# A fixed limit by norm is so many times as much for a single element: of n errors that are nearly normal the largest is about
# sqrt(2 log n) times their root mean square, 4.8 times for 100,000 of them.
TIMES_NORM = 5.0
# bfloat16, float16: so many times the error of NumPy with every operation's result rounded, the largest over the perturbed
# copies too: against a single draw one cell of 1,200 of torch's, over 18 seeds, came to 2.2 times in one element, and one of
# JAX' to 2.4 times by norm.
# A loss and gradients are held by both figures to the copies, and to how far the exact result moves from copy to copy: against
# a single draw torch's loss came to 20 times, for a sum may hit the exact one by chance. Over 8 seeds of torch and 3 of
# TensorFlow and JAX the nearest cell came to 1.5 times what is measured so (0.75 of the limit): outputs 1.5, loss 1.05,
# gradients 1.3. A training is held to rounded NumPy alone: after four large steps in bfloat16 its copies are apart by up to 0.8
# of the change of a weight, and twice that would let pass a training that changes no weight. Over 10 seeds of torch, TensorFlow
# and JAX the nearest came to 1.15 times rounded NumPy. What is computed in float32 by contract, the loss of given logits and an
# update, is held to float32's rule, its result before the one rounding to the format.
TIMES_ROUNDED = 2.0


@dataclass(frozen=True)
class Baseline:
    """What one case allows: relative errors measured on the reference's side.

    Args:
        numpy: of the NumPy backend in float32, the largest over the case and its perturbed copies; for bfloat16 and float16
            of NumPy rounded to the format.
        rounding: of the exact result rounded to the dtype: no implementation can have less.
        copies: how far the exact results of the perturbed copies are from that of the case; none for outputs and trainings in
            bfloat16 and float16, and for updates.
    """

    numpy: Errors = NONE
    rounding: Errors = NONE
    copies: Errors = NONE


@dataclass(frozen=True)
class Judgement:
    """``reason`` is the figure with what makes it fine or not."""

    passed: bool
    error: float
    limit: float
    reason: str

    def of(self, cell: Cell, backend: str) -> Result:
        return Result(*cell, backend, PASSED if self.passed else FAILED, self.reason, self.error, self.limit)

    @property
    def share(self) -> float:
        """How much of its limit the error takes; infinite where one of them is not finite."""
        return self.error / self.limit if np.isfinite([self.error, self.limit]).all() else float("inf")


# In the words of a reason.
FIGURES = {"norm": "by norm", "element": "in one element"}


def judge(row: str, dtype: str, errors: Errors, baseline: Baseline) -> Judgement:
    """Hold both figures of an error to the limits of their row and dtype: the judgement on the one that takes more of its own.

    What is not finite never passes, on either side.
    """
    if not np.isfinite([*errors, *chain(baseline.numpy, baseline.rounding, baseline.copies)]).all():
        return Judgement(False, errors.norm, float("nan"), f"not finite: the error is {errors.norm:.1e}, its {baseline}")
    return sorted((_judge(row, dtype, figure, errors, baseline) for figure in FIGURES), key=lambda one: one.share)[-1]


def judge_by_draws(row: str, dtype: str, errors: Errors, baseline: Callable[..., Baseline]) -> Judgement:
    """By the baseline as it comes; what is over its limit by little is judged again by that of ``MORE_COPIES``."""
    judgement = judge(row, dtype, errors, baseline())
    if judgement.passed or not judgement.share <= JUDGED_AGAIN:
        return judgement
    return judge(row, dtype, errors, baseline(copies=MORE_COPIES))


def _judge(row: str, dtype: str, figure: str, errors: Errors, baseline: Baseline) -> Judgement:
    error, numpy, rounding, copies = (
        getattr(pair, figure) for pair in (errors, baseline.numpy, baseline.rounding, baseline.copies)
    )
    times = TIMES_NORM if figure == "element" else 1.0
    if dtype == "float64":
        # Ill-conditioned rows: what their inputs lose in the last place, the proof allows them to lose.
        limit = LADDER[row].limit * worst([times, copies / EPS[dtype]])
        why = f"limit {limit:.0e}"
    elif dtype == "float32":
        cap = times * CAPS.get(LADDER[row].measured, CAP)
        limit, why = _float32(error, numpy, copies, worst([cap, TIMES_NUMPY * rounding, TIMES_NUMPY * copies]))
    else:
        # A loss is a sum in float32: the format's eps would let pass one that was computed in the format.
        least = FLOOR_EPS * EPS["float32"] if LADDER[row].measured == "loss" else EPS[dtype]
        measure = worst([numpy, copies, least])
        limit = TIMES_ROUNDED * measure
        name = "the copies" if measure == copies else "rounded NumPy"
        why = f"{error / measure:.2g}x {name}; limit {TIMES_ROUNDED:g}x"
    return Judgement(error <= limit, error, limit, f"{error:.1e} {FIGURES[figure]}; {why}")


def _float32(error: float, numpy: float, copies: float, cap: float) -> tuple[float, str]:
    floor = FLOOR_EPS * EPS["float32"]
    names = {numpy: "NumPy float32", copies: "the copies", floor: f"the floor of {FLOOR_EPS:g} eps"}
    measure = worst(names)
    if cap < TIMES_NUMPY * measure:
        return cap, f"limit {cap:.1e}"
    return TIMES_NUMPY * measure, f"{error / measure:.2g}x {names[measure]}; limit {TIMES_NUMPY:g}x"
