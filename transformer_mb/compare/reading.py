"""How probes read what comes back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .facts import Value


def rounded(value: float, digits: int) -> float:
    """To so many significant digits: what an exact setting of that many is, whatever rounding did to it."""
    return float(f"{value:.{digits - 1}e}")


def worded(value: float, digits: int) -> Value:
    """To so many significant digits, -0.0 as 0.0; in words what is no number."""
    if math.isnan(value):
        return "NaN"
    return "infinite" if math.isinf(value) else rounded(value, digits) + 0.0


def mean(values: Any) -> float:
    return float(np.mean(np.asarray(values, np.float64)))


def float32(*values: float) -> np.ndarray:
    """[n]."""
    return np.array(values, "float32")


def dtype_name(values: Any) -> str:
    return str(np.asarray(values).dtype)


def first_number(values: Any) -> str:
    """The first of them; of a complex one, such as decoys give, the real part."""
    return f"{float(np.asarray(values).real.flat[0]):.12g}"
