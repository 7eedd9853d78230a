"""The precision of a dtype: its epsilon, arrays rounded to it, and requests perturbed in its last place."""

from __future__ import annotations

import numpy as np

from ...random_streams import stream
from ...rounding import rounded
from .messages import Request

EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def rounded_arrays(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Floats rounded to the dtype, so that every backend and the reference start from the same numbers."""
    return {name: rounded(np.asarray(value), dtype) for name, value in arrays.items()}


def perturbed_copy(request: Request, number: int) -> Request:
    """The request with every float off by one unit in the last place of its dtype, up or down at random."""
    signs = stream("twin", number)
    arrays = {name: _nudged(value, request.dtype, signs) for name, value in request.arrays.items()}
    return Request(request.computation, request.dtype, request.spec, rounded_arrays(arrays, request.dtype))


def _nudged(array: np.ndarray, dtype: str, signs: np.random.Generator) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    array = array.astype(np.float64)
    return array + EPS[dtype] * np.abs(array) * signs.choice([-1.0, 1.0], array.shape)
