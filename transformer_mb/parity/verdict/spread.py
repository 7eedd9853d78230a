"""The place and the spread of an answer's errors: the number that is furthest off, and quantiles over all numbers.

Beside them stand NumPy's own in the same dtype: those of rounding are spread alike, and a mistake in a part of an array is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...columns.messages import Arrays
from ..computing.messages import OUTPUTS, under
from .limits import FLOOR, TINY, gradient_floor, norm, worst

AT = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)  # shares of the numbers


class Spread(NamedTuple):
    """The fields of a result; empty for rows whose arrays are none of outputs, losses and gradients.

    worst: a sentence. quantiles: ``own`` and, as far as its limit was made of them, NumPy's: errors at ``AT``.
    """

    worst: str = ""
    quantiles: dict[str, list[float]] | None = None


def compared(measured: str, answer: Arrays) -> Mapping[str, np.ndarray]:
    """Return the arrays of an answer whose numbers are looked at one by one."""
    if measured == "gradients":
        return under("gradient", answer)
    names = {"outputs": OUTPUTS, "loss": ("loss",)}.get(measured, ())
    return {name: np.asarray(value) for name, value in answer.items() if name.partition(".")[0] in names}


def numbers_off(measured: str, got: Arrays, expected: Arrays) -> dict[str, np.ndarray]:
    """Return by array each number's error, relative to the root mean square of the reference's array as its limits are."""
    ours, exact = compared(measured, got), compared(measured, expected)
    whole = norm(exact.values())
    found = {}
    for name, value in exact.items():
        floor = gradient_floor(value, whole) if measured == "gradients" else FLOOR * np.sqrt(value.size)
        size = worst([norm([value]), floor, TINY]) / np.sqrt(value.size or 1)
        found[name] = np.abs(np.asarray(ours[name], np.float64) - np.asarray(value, np.float64)) / size
    return found


def quantiles(measured: str, got: Arrays, expected: Arrays) -> list[float]:
    """Return the errors at ``AT`` over the numbers of all arrays, to three digits; none where there are no numbers."""
    return _at(numbers_off(measured, got, expected))


def _at(off: Mapping[str, np.ndarray]) -> list[float]:
    every = np.concatenate([value.ravel() for value in off.values()]) if off else np.zeros(0)
    return [float(f"{value:.3g}") for value in np.quantile(every, AT)] if every.size else []


def spread(measured: str, got: Arrays, expected: Arrays, numpy: list[float] | None) -> Spread:
    """Return where the errors of an answer are; ``numpy``: the ``quantiles`` of the reference's own in the dtype."""
    off = {name: value for name, value in numbers_off(measured, got, expected).items() if value.size}
    if not off:
        return Spread()
    name = list(off)[int(np.argmax([value.max() for value in off.values()]))]  # NaN counts as the largest
    place = np.unravel_index(int(off[name].argmax()), off[name].shape)
    values = [float(np.asarray(compared(measured, answer)[name])[place]) for answer in (got, expected)]
    where = f"{name} at {[int(index) for index in place]}" if place else name
    worst = f"{where}: {values[0]:.9g}, and {values[1]:.9g} in the reference"
    return Spread(worst, {"own": _at(off), **({"reference": numpy} if numpy else {})})
