"""Losses in optax."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax

ABSENT = {
    "binary_cross_entropy_probabilities": "optax takes logits only.",
    "binary_cross_entropy_gradient": "optax takes logits only.",
}


def binary_cross_entropy(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.asarray(optax.sigmoid_binary_cross_entropy(jnp.asarray(scores), jnp.asarray(targets)))


def squared_error(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.asarray(optax.l2_loss(jnp.asarray(predictions), jnp.asarray(targets)))


def huber(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.asarray(optax.huber_loss(jnp.asarray(predictions), jnp.asarray(targets)))


def kl_divergence(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.asarray(optax.kl_divergence(jnp.log(predictions), jnp.asarray(targets)))
