"""jax.jit, on XLA."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np


def through_bfloat16(X: np.ndarray) -> np.ndarray:
    return np.asarray(jnp.asarray(X).astype(jnp.bfloat16).astype(jnp.float32))


def through_bfloat16_compiled(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(lambda x: x.astype(jnp.bfloat16).astype(jnp.float32))(X))


def sum_less_first(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(lambda x, y: x + y - x)(X, Y))


def logarithm_of_power(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(lambda x: jnp.log2(jnp.exp2(x)))(X))


def multiply_add(X: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(lambda x, y, z: x * y + z)(X, Y, Z))


def third(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(lambda x: x / 3.0)(X))


def runs(arrays: Sequence[np.ndarray]) -> int:
    """How often Python runs a compiled function that is called with each of the arrays."""
    seen = []

    @jax.jit
    def traced(x: jax.Array) -> jax.Array:
        seen.append(1)
        return x + 1.0

    for array in arrays:
        traced(array)
    return len(seen)
