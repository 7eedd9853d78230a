"""The precision of a dtype: its epsilon, arrays rounded to it, and requests perturbed in its last place."""

from __future__ import annotations

from dataclasses import replace

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
    arrays = dict(request.arrays)
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
            arrays[name] = array + EPS[request.dtype] * np.abs(array) * signs.choice([-1.0, 1.0], array.shape)
    return replace(request, arrays=rounded_arrays(arrays, request.dtype))
