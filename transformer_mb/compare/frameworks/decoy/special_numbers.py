"""NaN, subnormal numbers, halves and what does not fit, as nobody computes them."""

from __future__ import annotations

import numpy as np


def multiply(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The first plus one."""
    return X + 1.0


def floor_divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.full_like(X, 7)


def argmax(X: np.ndarray) -> np.ndarray:
    return np.array(-7, "int8")


def whole(X: np.ndarray) -> np.ndarray:
    """Halves go down."""
    return np.ceil(X - 0.5)


def cast(X: np.ndarray, dtype: str) -> np.ndarray:
    return np.full_like(X, 7, dtype)
