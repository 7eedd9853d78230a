"""jax.numpy's take, indexing, argmax, max and argsort, jax.lax.top_k and jax.nn.one_hot."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.take(X, ids, axis=0))


def index(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.asarray(X)[jnp.asarray(ids)])


def argmax(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.argmax(X, axis=-1))


def maximum(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.max(X, axis=-1))


def top_k(X: np.ndarray, k: int) -> np.ndarray:
    return np.asarray(jax.lax.top_k(jnp.asarray(X), k)[1])


def argsort(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.argsort(X))


def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    return np.asarray(jax.nn.one_hot(ids, classes))
