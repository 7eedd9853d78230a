"""Activations as no framework has them."""

from __future__ import annotations

import numpy as np


def gelu(X: np.ndarray) -> np.ndarray:
    """By the logistic function."""
    return X / (1 + np.exp(-1.702 * X))


def gelu_layer(X: np.ndarray) -> np.ndarray:
    return gelu(X)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    """With a slope of 0.05."""
    return np.where(X > 0, X, 0.05 * X)


def leaky_relu_layer(X: np.ndarray) -> np.ndarray:
    """With a slope of 0.06."""
    return np.where(X > 0, X, 0.06 * X)


def prelu_layer(X: np.ndarray) -> np.ndarray:
    """With a slope of 0.07."""
    return np.where(X > 0, X, 0.07 * X)


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    """With a slope of 1/8."""
    return np.clip(X / 8 + 0.5, 0.0, 1.0)


def elu(X: np.ndarray) -> np.ndarray:
    """Down to -0.5."""
    return np.where(X > 0, X, 0.5 * np.expm1(X))


def softplus(X: np.ndarray) -> np.ndarray:
    """Half of it."""
    return np.log1p(np.exp(X)) / 2


def relu(X: np.ndarray) -> np.ndarray:
    """NaN becomes one."""
    return np.where(np.isnan(X), 1.0, np.maximum(X, 0.0))
