"""Numbers as near as a lower precision can hold them, kept in float32."""

from __future__ import annotations

import numpy as np


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floats rounded to the dtype: float64 as they are, bfloat16 and float16 as float32; other arrays as they are."""
    if array.dtype.kind != "f" or dtype == "float64":
        return array
    single = array.astype(np.float32)
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return single.astype(np.float16).astype(np.float32)
    return _to_bfloat16(single) if dtype == "bfloat16" else single


def _to_bfloat16(single: np.ndarray) -> np.ndarray:
    """To the nearest, to even at a tie: the upper 16 bits of a float32."""
    bits = np.ascontiguousarray(single).view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isfinite(single), nearest.view(np.float32).reshape(single.shape), single)
