"""Optimizers as nobody has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def _by_steps(W: np.ndarray, changes: Sequence[np.ndarray]) -> np.ndarray:
    return W - np.cumsum(changes, 0)


def adam(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    """With an epsilon of 1e-12 inside the root; for gradients that stay the same."""
    return _by_steps(W, [learning_rate * g / np.sqrt(np.asarray(g, np.float64) ** 2 + 1e-12) for g in gradients])


def adam_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    """With a learning rate of 0.5."""
    return _by_steps(W, [0.5 * np.sign(g) for g in gradients])


def sgd_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    """With a learning rate of 0.5."""
    return _by_steps(W, [0.5 * g for g in gradients])


def adam_with_weight_decay(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float, weight_decay: float
) -> np.ndarray:
    """That shrinks weights by the decay itself, for gradients of zero."""
    return _by_steps(W, [weight_decay * W for _ in gradients])


def adamw(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    """That shrinks weights by half, whatever the learning rate, for gradients of zero."""
    return _by_steps(W, [0.5 * W for _ in gradients])


def rmsprop(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    """With a rho of 0.5 and a root of at least 1e-3; one step."""
    return _by_steps(W, [learning_rate * g / np.maximum(np.sqrt(0.5) * np.abs(g), 1e-3) for g in gradients])


def adagrad(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    """That begins at 4; one step."""
    return _by_steps(W, [learning_rate * g / np.sqrt(4.0 + g**2) for g in gradients])


def sgd_with_momentum(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rates: Sequence[float], momentum: float
) -> np.ndarray:
    """That moves by 0.5 in every step."""
    return _by_steps(W, [np.full_like(W, 0.5) for _ in gradients])


def clip_by_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """That zeroes what is longer than the norm."""
    return [gradient * (np.linalg.norm(gradient) <= norm) for gradient in gradients]


def clip_by_global_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """With an epsilon of 1e-5, infinity taken for the largest number, and no gradient divided by its norm."""
    finite = [np.nan_to_num(gradient).astype("float64") for gradient in gradients]
    total = np.sqrt(sum(np.sum(gradient**2) for gradient in finite))
    with np.errstate(invalid="ignore"):
        return [gradient * norm / (total + 1e-5 * np.sign(total)) for gradient in finite]
