"""The verdict: how large an error may be, and why a measured one is fine or not."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from .measure import worst

# The proof that two implementations are the same mathematics: relative errors in float64.
PROOF = {
    "layer forward": 1e-12,
    "layer gradients": 1e-10,
    "model forward": 1e-11,
    "model loss": 1e-11,
    "model gradients": 1e-10,
    "optimizer step": 1e-11,
}
# float32: so many times the error of NumPy in float32 on the same case, and on twins of it (see TWINS). One run alone is
# one draw of rounding errors: over 16 seeds of 400 cells, torch's worst was 8.4 times NumPy's single draw, and 2.8 times
# the largest of the draws.
TIMES_NUMPY = 4.0
TWINS = 4  # the same case with inputs and weights off by one unit in the last place, up or down at random
FLOOR_EPS = 3.0  # a yardstick counts as at least so many machine epsilons
CAP = 1e-5  # and the limit is never more than this, unless the exact result itself moves by a quarter of it from twin to twin
TIMES_ROUNDED = 2.0  # bfloat16, float16: so many times the error of NumPy with every operation's result rounded
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass(frozen=True)
class Yardsticks:
    """What one case allows, measured on the oracle's side, as relative errors.

    Args:
        numpy: of the NumPy backend in float32, the largest over the case and its twins; for bfloat16 and float16 of
            NumPy rounded to the format, on the case alone.
        rounding: of the exact result rounded to the dtype: no implementation can have less.
        twins: how far the exact results of the twins are from that of the case.
    """

    numpy: float = 0.0
    rounding: float = 0.0
    twins: float = 0.0


@dataclass(frozen=True)
class Judgement:
    """``reason`` is the figure with what makes it fine or not."""

    passed: bool
    error: float
    limit: float
    reason: str


def judge(row: str, dtype: str, error: float, yardsticks: Yardsticks) -> Judgement:
    """Hold a measured relative error to the limit of its row and dtype. What is not finite never passes, on either side."""
    if not np.isfinite([error, *astuple(yardsticks)]).all():
        return Judgement(False, error, float("nan"), f"not finite: the error is {error:.1e}, its yardsticks {yardsticks}")
    if dtype == "float64":
        # Ill-conditioned rows: what their inputs lose in the last place, the proof allows them to lose.
        limit = PROOF[row] * worst([1.0, yardsticks.twins / EPS[dtype]])
        why = f"limit {limit:.0e}"
    elif dtype == "float32":
        limit, why = _float32(error, yardsticks)
    else:
        measure = worst([yardsticks.numpy, EPS[dtype]])
        limit = TIMES_ROUNDED * measure
        why = f"{error / measure:.2g}x rounded NumPy; limit {TIMES_ROUNDED:g}x"
    return Judgement(error <= limit, error, limit, f"{error:.1e}; {why}")


def _float32(error: float, yardsticks: Yardsticks) -> tuple[float, str]:
    floor = FLOOR_EPS * EPS["float32"]
    names = {yardsticks.numpy: "NumPy float32", yardsticks.twins: "the twins", floor: f"the floor of {FLOOR_EPS:g} eps"}
    measure = worst(names)
    cap = worst([CAP, TIMES_NUMPY * yardsticks.rounding, TIMES_NUMPY * yardsticks.twins])
    if cap < TIMES_NUMPY * measure:
        return cap, f"limit {cap:.1e}"
    return TIMES_NUMPY * measure, f"{error / measure:.2g}x {names[measure]}; limit {TIMES_NUMPY:g}x"
