"""Distances of a candidate from the reference, and their limits: by measures that the reference itself gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..parity.verdict.limits import (
    CAP,
    CAPS,
    FIGURES,
    FLOOR_EPS,
    NONE,
    TIMES,
    TIMES_NUMPY,
    TIMES_ROUNDED,
    TINY,
    ByArray,
    Errors,
    errors,
    gradient_errors,
    worst,
)
from ..reports.record import finite
from .cases import EPS

Arrays = Mapping[str, np.ndarray]
TIMES_OWN = TIMES_NUMPY  # of the reference's own error: the rule of the matrix, whose reference is NumPy
# float64: the same mathematics. What the inputs lose in the last place, the candidate may lose too.
EXACT = {"outputs": 1e-11, "gradients": 1e-10}
SMALL = 1e-6  # of the largest output: one that is smaller is measured against this
FLOAT32_INSIDE = 1e-5  # errors of a float64 run that float32 somewhere inside would explain, at most


@dataclass(frozen=True)
class Figure:
    """A compared thing, with the verdict on it.

    Args:
        part: ``output``, ``gradient of x``. dtype: of the run. draw: the number of the case.
        figure: ``norm``, of all numbers together, or ``element``, of the one that is furthest off.
        error, limit: relative to the reference's root mean square; infinite where no number says what is wrong.
        reason: the figure with what makes it fine or not.
        rule: the dtype whose limits hold, where that is not the run's own.
        own, moved, rounding: what the limit is made of: see ``Yardstick``.
    """

    part: str
    dtype: str
    passed: bool
    error: float
    limit: float
    reason: str
    figure: str = "norm"
    draw: int = 0
    rule: str | None = None
    own: float = 0.0
    moved: float = 0.0
    rounding: float = 0.0

    @property
    def share(self) -> float:
        """The error divided by its limit; infinite where one of them is not finite."""
        return self.error / self.limit if np.isfinite([self.error, self.limit]).all() else float("inf")

    @property
    def kind(self) -> str:
        return {"gradient": "gradients", "update": "updates"}.get(self.part.partition(" ")[0], "outputs")

    def to_dict(self) -> dict[str, Any]:
        return finite(asdict(self))


def wrong(part: str, dtype: str, words: str) -> Figure:
    """Return a figure that fails for a reason that is no number."""
    return Figure(part, dtype, False, float("inf"), float("nan"), words)


@dataclass(frozen=True)
class Yardstick:
    """The reference's own loss in each array.

    Args:
        own: its errors in the dtype of the run, the largest over the case and its copies; none in float64.
        moved: how far the exact results of the copies are from the case's.
        rounding: of the exact result rounded to the dtype: nothing that is rounded has less.
    """

    own: ByArray
    moved: ByArray
    rounding: ByArray = field(default_factory=dict)


def measured(kind: str, got: Arrays, exact: Arrays) -> dict[str, Errors]:
    """Return the errors of outputs, or of gradients, which are measured against all of them together."""
    if not exact:
        return {}
    if kind == "gradients":
        return dict(gradient_errors(got, exact))
    largest = worst([_mean_square(value) for value in exact.values()])
    return {name: errors(got[name], value, _floor(value, largest)) for name, value in exact.items()}


def _mean_square(array: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) if array.size else 0.0


def _floor(array: np.ndarray, largest: float) -> float:
    return worst([SMALL * largest * np.sqrt(array.size), TINY])


def judged(kind: str, dtype: str, off: ByArray, yardstick: Yardstick, draw: int = 0, rule: str | None = None) -> list[Figure]:
    """Hold each array's two figures to its limits; the figure that takes most of its own is returned.

    Args:
        rule: the dtype whose limits hold, where that is not the run's own.
    """
    usual = {name: _usual(yardstick.own, name) for name in FIGURES}
    found = []
    for part, pair in off.items():
        figures = [_judged(kind, rule or dtype, part, figure, pair, yardstick, usual[figure], draw) for figure in FIGURES]
        worst_one = max(figures, key=lambda one: one.share)
        found.append(worst_one if rule is None else replace(worst_one, dtype=dtype, rule=rule))
    return found


def _usual(own: ByArray, figure: str) -> float:
    """Return the median over arrays: that of one alone may be small by luck."""
    return float(np.median([getattr(pair, figure) for pair in own.values()])) if own else 0.0


def _judged(
    kind: str, dtype: str, part: str, figure: str, off: Errors, yardstick: Yardstick, usual: float, draw: int
) -> Figure:
    error = getattr(off, figure)
    own, moved, least = (getattr(each.get(part, NONE), figure) for each in (yardstick.own, yardstick.moved, yardstick.rounding))
    own = worst([own, usual])
    if not np.isfinite([error, moved, own]).all():
        return wrong(part, dtype, f"not finite: the error is {error:.1e}, the reference's own {own:.1e}")
    if dtype == "float64":
        limit = EXACT[kind] * worst([TIMES[figure], moved / EPS[dtype]])
        why = f"limit {limit:.0e}"
    elif dtype == "float32":
        limit, why = _float32(kind, figure, error, own, worst([moved, least]))
    else:
        measure = worst([own, EPS[dtype]])
        limit, why = TIMES_ROUNDED * measure, f"{error / measure:.2g}x the reference's own, limit {TIMES_ROUNDED:g}x"
    reason = f"{error:.1e} {FIGURES[figure]}; {why}"
    return Figure(part, dtype, error <= limit, error, limit, reason, figure, draw, own=own, moved=moved, rounding=least)


def _float32(kind: str, figure: str, error: float, own: float, moved: float) -> tuple[float, str]:
    floor = FLOOR_EPS * EPS["float32"]
    names = {own: "the reference's own", moved: "what a last place of its inputs moves", floor: f"{FLOOR_EPS:g} eps"}
    measure = worst(names)
    cap = worst([TIMES[figure] * CAPS.get(kind, CAP), TIMES_OWN * moved])
    if cap < TIMES_OWN * measure:
        return cap, f"limit {cap:.1e}, though the reference itself loses {own:.1e}"
    return TIMES_OWN * measure, f"{error / measure:.2g}x {names[measure]}, limit {TIMES_OWN:g}x"


def comparable(got: Arrays, exact: Arrays) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays of both sides that have errors, and what is wrong with the others in words.

    Where both are the same infinity, as masks are, both count as zero.
    """
    ours, theirs, words = {}, {}, {}
    for name, value in exact.items():
        if name not in got:
            words[name] = f"the candidate does not return it, the reference gives {_shape(value)}"
        elif got[name].shape != value.shape:
            words[name] = f"the shape must be {_shape(value)}, as the reference's, got {_shape(got[name])}"
        elif value.dtype.kind != got[name].dtype.kind:
            words[name] = f"the reference gives {value.dtype}, the candidate {got[name].dtype}"
        elif value.dtype.kind != "f":
            if not np.array_equal(value, got[name]):
                words[name] = f"{int(np.sum(value != got[name]))} of {value.size} values differ, which are no floats"
        elif said := _not_finite(got[name], value):
            words[name] = said
        else:
            ours[name], theirs[name] = (np.where(np.isfinite(one), one, 0.0) for one in (got[name], value))
    words |= {
        name: f"the reference does not return it, the candidate gives {_shape(got[name])}" for name in got if name not in exact
    }
    return ours, theirs, words


def _not_finite(got: np.ndarray, exact: np.ndarray) -> str:
    if np.isnan(exact).any():
        return f"the reference gives NaN in {int(np.isnan(exact).sum())} of {exact.size} numbers: nothing can be said"
    differ = (got != exact) & ~(np.isfinite(got) & np.isfinite(exact))
    return f"{int(differ.sum())} of {got.size} numbers are not finite on one side alone" if differ.any() else ""


def _shape(array: np.ndarray) -> str:
    return f"[{', '.join(map(str, array.shape))}]"


def worst_figures(figures: Sequence[Figure]) -> list[Figure]:
    """Return of each part and dtype the figure of the draw that takes most of its limit."""
    found: dict[tuple[str, str], Figure] = {}
    for one in figures:
        key = (one.dtype, one.part)
        if key not in found or one.share > found[key].share:
            found[key] = one
    return list(found.values())
