"""NumPy itself on NaN, subnormal numbers, halves and what does not fit."""

from __future__ import annotations

import numpy as np


def multiply(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X * Y


def floor_divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X // Y


def argmax(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.argmax(X))


def whole(X: np.ndarray) -> np.ndarray:
    return np.round(X)


def cast(X: np.ndarray, dtype: str) -> np.ndarray:
    return X.astype(dtype)
