"""NumPy itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer_mb.compare.facts import Absent

NOTHING_ELSE = "NumPy has arrays alone."
ABSENT = {
    "returned": NOTHING_ELSE,
    "follows_array": NOTHING_ELSE,
    "follows_tensor": NOTHING_ELSE,
}


def from_python(values: Sequence[float]) -> np.ndarray:
    return np.array(values)


def arange(count: int) -> np.ndarray:
    return np.arange(count)


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X + Y


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return X + number


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return X / Y


def total(X: np.ndarray) -> np.ndarray:
    return np.sum(X)


def mean(X: np.ndarray) -> np.ndarray:
    return np.mean(X)


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    if dtype == "bfloat16":
        raise Absent("NumPy has no bfloat16.")
    return (X.astype(dtype) @ Y.astype(dtype)).astype("float32")
