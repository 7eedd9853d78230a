"""optax."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
import optax

ABSENT = {
    "adam_by_default": "optax.adam must be told a learning rate.",
    "sgd_by_default": "optax.sgd must be told a learning rate.",
    "adam_with_weight_decay": "optax.adam takes no weight decay: optax.adamw is for that.",
}


def _run(optimizer: optax.GradientTransformation, W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    """The weights after each step: [steps, weights]."""
    weights = jnp.asarray(W)
    state = optimizer.init(weights)
    after = []
    for gradient in gradients:
        updates, state = optimizer.update(jnp.asarray(gradient), state, weights)
        weights = optax.apply_updates(weights, updates)
        after.append(np.asarray(weights))
    return np.stack(after)


def adam(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(optax.adam(learning_rate), W, gradients)


def adamw(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(optax.adamw(learning_rate), W, gradients)


def rmsprop(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(optax.rmsprop(learning_rate), W, gradients)


def adagrad(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(optax.adagrad(learning_rate), W, gradients)


def sgd_with_momentum(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rates: Sequence[float], momentum: float
) -> np.ndarray:
    """With a schedule, optax's way to another learning rate."""
    rates = jnp.asarray(learning_rates)
    return _run(optax.sgd(lambda step: rates[step], momentum=momentum), W, gradients)


def clip_by_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """clip_by_global_norm, optax's only one by that name."""
    clip = optax.clip_by_global_norm(norm)
    given = [jnp.asarray(gradient) for gradient in gradients]
    return [np.asarray(gradient) for gradient in clip.update(given, clip.init(given))[0]]


clip_by_global_norm = clip_by_norm
