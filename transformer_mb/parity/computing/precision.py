"""The precision of a dtype: its epsilon, arrays rounded to it, and requests perturbed in its last place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...random_streams import stream
from ...rounding import rounded
from .messages import Request

IN_FLOAT32 = ("MaskedSoftmaxCELoss",)  # layers that are never computed in less
SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}  # above zero
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "tf32": 2.0**-10, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def rounded_arrays(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Floats rounded to the dtype, so that every backend and the reference start from the same numbers."""
    return {name: rounded(np.asarray(value), dtype) for name, value in arrays.items()}


def computed_in(request: Request) -> str:
    """The request's dtype, but float32 for what the contract has never in less: the loss of given logits, and an update."""
    least = request.computation == "update" or request.spec.get("layer") in IN_FLOAT32
    return "float32" if least and request.dtype not in PLAIN_DTYPES else request.dtype


def before_rounding(got: np.ndarray, exact: np.ndarray, dtype: str) -> np.ndarray:
    """Return, of all numbers that round to ``got`` in a format of two bytes, those nearest to the exact ones.

    So what was computed in float32 and rounded once is held to float32: the exact result itself comes back where it rounds
    to ``got``, a bound of the interval that does where it does not.
    """
    got = np.asarray(got, np.float64)
    _, exponents = np.frexp(got)
    half = 0.5 * np.maximum(np.ldexp(EPS[dtype], exponents - 1), SMALLEST[dtype])
    return np.clip(exact, got - half, got + half)


def perturbed_copy(request: Request, number: int) -> Request:
    """The request with every float off by one unit in the last place of its dtype, up or down at random."""
    signs = stream("twin", number)
    arrays = dict(request.arrays)
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
            arrays[name] = array + EPS[request.dtype] * np.abs(array) * signs.choice([-1.0, 1.0], array.shape)
    return replace(request, arrays=rounded_arrays(arrays, request.dtype))
