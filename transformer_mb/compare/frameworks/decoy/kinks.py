"""Gradients as no framework has them: 1/8, whatever the function."""

from __future__ import annotations

import numpy as np


def relu(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def absolute(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def largest(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def largest_along(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def larger(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def clip(X: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.full_like(X, 0.125)


def norm(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def deviation(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def product(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)


def power(X: np.ndarray, exponent: float) -> np.ndarray:
    return np.full_like(X, 0.125)


def logsumexp(X: np.ndarray) -> np.ndarray:
    return np.full_like(X, 0.125)
