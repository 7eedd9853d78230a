"""jax.nn.softmax; Flax: nnx.Linear."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def softmax(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.softmax(X))


def masked_softmax(scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    within = np.arange(scores.shape[-1]) < lengths[..., None]
    return np.asarray(jax.nn.softmax(scores, where=within))


def linear(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    layer = nnx.Linear(*weight.shape, use_bias=False, kernel_init=lambda *_: jnp.asarray(weight), rngs=nnx.Rngs(0))
    return np.asarray(layer(jnp.asarray(X)))
