"""Numbers as near as a lower precision can hold them, kept in float32."""

from __future__ import annotations

import numpy as np

# Formats with float32's exponents: how many of its 23 bits they drop. TF32 is what a GPU may make of the factors of products.
DROPPED = {"bfloat16": 16, "tf32": 13}
# What else it may make of them: the dropped bits are not read.
TF32_TOWARDS_ZERO = "tf32 towards zero"


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floats rounded to the dtype: float64 as they are, the other formats as float32; other arrays as they are."""
    if array.dtype.kind != "f" or dtype == "float64":
        return array
    single = array.astype(np.float32)
    if dtype == TF32_TOWARDS_ZERO:
        return (single.view(np.uint32) & ~np.uint32(2 ** DROPPED["tf32"] - 1)).view(np.float32)
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return single.astype(np.float16).astype(np.float32)
    return _to_upper_bits(single, DROPPED[dtype]) if dtype in DROPPED else single


# Of a format: digits of two that a number has, and the exponent below which it has fewer.
DIGITS = {"float32": (24, -126), "bfloat16": (8, -126), "float16": (11, -14)}


def last_place(array: np.ndarray, dtype: str) -> np.ndarray:
    """The distance of the two neighbors that each float has in the format."""
    digits, least = DIGITS[dtype]
    return np.ldexp(1.0, np.maximum(np.frexp(array)[1] - 1, least) - digits + 1)


def rounded_at_random(array: np.ndarray, dtype: str, random: np.random.Generator) -> np.ndarray:
    """Round floats to one of their two neighbors in the format, to the nearer one the more often (stochastic rounding).

    The mean is the number itself; a number of the format stays. Of the dtype of the array.
    """
    place = last_place(array, dtype)
    with np.errstate(invalid="ignore"):  # infinity over infinity
        near = np.floor(array / place + random.random(array.shape)) * place
    return rounded(near, dtype).astype(array.dtype)


def _to_upper_bits(single: np.ndarray, dropped: int) -> np.ndarray:
    """Round to the nearest, to even at a tie."""
    bits = np.ascontiguousarray(single).view(np.uint32)
    place = np.uint32(dropped)
    last = (bits >> place) & np.uint32(1)
    nearest = ((bits + np.uint32(2 ** (dropped - 1) - 1) + last) >> place) << place
    return np.where(np.isfinite(single), nearest.view(np.float32).reshape(single.shape), single)
