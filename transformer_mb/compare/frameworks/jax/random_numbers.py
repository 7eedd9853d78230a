"""flax.nnx layers, jax.nn.initializers and jax.random."""

from __future__ import annotations

import jax
import numpy as np
from flax import nnx

ABSENT = {"initialized_twice": "JAX's initializers have no state: every call is given its key."}


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    layer = nnx.Linear(inputs, outputs, rngs=nnx.Rngs(seed))
    return np.asarray(layer.kernel), np.asarray(layer.bias)


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    return np.asarray(nnx.Embed(vocabulary, size, rngs=nnx.Rngs(seed)).embedding)


def truncated_normal(deviation: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.asarray(jax.nn.initializers.truncated_normal(deviation)(jax.random.key(seed), shape))


def uniform(seed: int, count: int) -> np.ndarray:
    return np.asarray(jax.random.uniform(jax.random.key(seed), (count,)))


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """With the key of the seed both times."""
    key = jax.random.key(seed)
    return np.asarray(jax.random.uniform(key, (count,))), np.asarray(jax.random.uniform(key, (count,)))


def normal(seed: int, count: int) -> np.ndarray:
    return np.asarray(jax.random.normal(jax.random.key(seed), (count,)))


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    return np.asarray(nnx.Dropout(rate, deterministic=not training, rngs=nnx.Rngs(seed))(X))
