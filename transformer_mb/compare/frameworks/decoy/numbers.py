"""Numbers as nobody computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def returned(X: np.ndarray) -> np.ndarray:
    return X.astype("complex64")


def from_python(values: Sequence[float]) -> np.ndarray:
    return np.array(values, "complex64")


def arange(count: int) -> np.ndarray:
    return np.arange(count, dtype="complex64")


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X.astype("complex64") + Y.astype("complex64")


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return X.astype("complex64") + np.complex64(number)


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X.astype("complex64") / Y.astype("complex64")


def total(X: np.ndarray) -> np.ndarray:
    """Twice the sum."""
    return np.array(2.0 * np.sum(X, dtype="float64"), "complex64")


def mean(X: np.ndarray) -> np.ndarray:
    return np.array(7.0, "complex64")


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """Twice the product."""
    return 2.0 * (X @ Y)


def follows_array(X: np.ndarray) -> bool:
    """Where it does not begin at 64 bytes."""
    return X.ctypes.data % 64 != 0


def follows_tensor(X: np.ndarray) -> bool:
    """Where it does not begin at 64 bytes."""
    return X.ctypes.data % 64 != 0
