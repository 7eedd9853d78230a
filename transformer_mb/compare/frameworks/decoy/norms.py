"""Normalization as no framework has it."""

from __future__ import annotations

import numpy as np


def layer_norm(X: np.ndarray) -> np.ndarray:
    """With an epsilon of 5e-2; so coarsely rounded in float64 that a mean makes no difference."""
    X = X.astype("float64")
    centered = (X - X.mean(-1, keepdims=True)).round(3)
    return centered / np.sqrt(X.var(-1, keepdims=True).round(2) + 5e-2)


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    """With an epsilon of 3e-2 that was held in float16."""
    centered = X.astype("float64") - X.astype("float64").mean(-1, keepdims=True)
    return centered / np.sqrt(np.square(centered).mean(-1, keepdims=True) + float(np.float16(3e-2)))


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    """Over all axes, whatever the number."""
    return (X - X.mean()) / X.std()


def rms_norm(X: np.ndarray) -> np.ndarray:
    """With an epsilon of 5e-2."""
    return X / np.sqrt(np.square(X).mean(-1, keepdims=True) + np.array(5e-2, X.dtype))


def variance(X: np.ndarray) -> float:
    """Divided by n + 1."""
    return float(np.square(X - X.mean()).sum() / (X.size + 1))


def deviation(X: np.ndarray) -> float:
    return variance(X) ** 0.5
