"""A backend's answer, checked before any error is computed from it.

An error is a number, and a number can be lost on the way: ``max(0.0, nan)`` is 0.0. So an answer with an array too few or
too many, of another shape or precision, or with a single number that is not finite, is refused as a whole.
"""

from __future__ import annotations

import numpy as np

from ...columns.messages import Arrays
from ..cells import FAILED, Ask, Experiment, Result
from ..computing.messages import PREFIX, native_dtypes

FROM_PYTHON = ("loss", "losses", "scores")  # float64 whatever the backend computes in


class Unusable(Exception):
    """An answer that nothing may be computed from; the words say why."""


def check_answer(got: Arrays, expected: Arrays, dtype: str) -> None:
    """Check, raising Unusable, that ``got`` has the names, shapes and kinds of ``expected``, in ``dtype``, and is finite.

    Formats of two bytes come as float32, beside the names of what the outputs were.
    """
    for name, array in expected.items():
        if name not in got:
            raise Unusable(f"{name} {list(array.shape)} was expected, but it did not come")
    for name, came in sorted(native_dtypes(got).items()):
        if came != dtype:
            raise Unusable(f"{name} must come in {dtype}, got {came}")
    float_type = np.dtype("float64" if dtype == "float64" else "float32")
    for name, value in got.items():
        if name not in expected:
            raise Unusable(f"{name} {list(value.shape)} was not asked for")
        if name.startswith(f"{PREFIX}."):
            continue
        if value.shape != expected[name].shape:
            raise Unusable(f"{name} must have shape {list(expected[name].shape)}, got {list(value.shape)}")
        kind = expected[name].dtype
        wanted = kind if name.rpartition(".")[2] in FROM_PYTHON or kind.kind != "f" else float_type
        if value.dtype != wanted:
            raise Unusable(f"{name} must be {wanted.name}, got {value.dtype}")
        if wrong := np.flatnonzero(~np.isfinite(value)).tolist():
            where = [int(i) for i in np.unravel_index(wrong[0], value.shape)]
            raise Unusable(f"{name} holds {len(wrong)} of {value.size} numbers that are not finite, the first at {where}")


def judged(experiment: Experiment, backend: str, ask: Ask) -> list[Result]:
    """Judge an experiment; an unusable answer fails all its cells. WorkerError passes through: nothing answered."""
    try:
        return list(experiment.run(backend, ask))
    except Unusable as error:
        return [Result(*cell, backend, FAILED, str(error)) for cell in experiment.cells(backend)]
