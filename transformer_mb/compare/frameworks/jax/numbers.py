"""jax.numpy, with 32 bits as JAX has them by default."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np


def returned(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.asarray(X))


def from_python(values: Sequence[float]) -> np.ndarray:
    return np.asarray(jnp.asarray(values))


def arange(count: int) -> np.ndarray:
    return np.asarray(jnp.arange(count))


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.asarray(X) + jnp.asarray(Y))


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return np.asarray(jnp.asarray(X) + number)


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.asarray(X) / jnp.asarray(Y))


def total(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.sum(jnp.asarray(X)))


def mean(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.mean(jnp.asarray(X)))


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    first, second = (jnp.asarray(array).astype(dtype) for array in (X, Y))
    return np.asarray((first @ second).astype("float32"))


def follows_array(X: np.ndarray) -> bool:
    """Whether a change of the array is seen in the tensor that jax.numpy.asarray made of it."""
    tensor = jnp.asarray(X)
    X[0] += 1
    return bool(tensor[0] == X[0])


def follows_tensor(X: np.ndarray) -> bool:
    """Whether a change of what numpy.asarray gives is seen in the tensor."""
    tensor = jnp.asarray(X)
    array = np.asarray(tensor)
    array[0] += 1
    return bool(tensor[0] == array[0])
