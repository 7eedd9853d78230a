"""Cross-entropy in optax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

ABSENT = {
    "cross_entropy_ignoring": "optax takes no label to ignore: it returns every row's loss.",
}


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.asarray(optax.softmax_cross_entropy_with_integer_labels(jnp.asarray(logits), jnp.asarray(labels)))


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return cross_entropy(scores, labels)


def cross_entropy_smoothed(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> np.ndarray:
    smooth = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1]), smoothing)
    return np.asarray(optax.softmax_cross_entropy(jnp.asarray(logits), smooth))


def cross_entropy_half(logits: np.ndarray, labels: np.ndarray) -> str:
    return optax.softmax_cross_entropy_with_integer_labels(jnp.asarray(logits, jnp.float16), jnp.asarray(labels)).dtype.name


def cross_entropy_bfloat16(logits: np.ndarray, labels: np.ndarray) -> str:
    return optax.softmax_cross_entropy_with_integer_labels(jnp.asarray(logits, jnp.bfloat16), jnp.asarray(labels)).dtype.name
