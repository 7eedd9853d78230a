"""jax.nn.dot_product_attention; Flax: nnx.dot_product_attention where there is dropout, and nnx.MultiHeadAttention."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from .float64 import enable_x64

ABSENT = {"encoder": "JAX and Flax have no layer for a whole encoder."}


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    attend: Any = jax.jit(jax.nn.dot_product_attention, static_argnames="is_causal")
    # JAX computes in float32 whatever comes, unless it is told that there is float64.
    with enable_x64(queries.dtype == np.float64):
        return np.asarray(attend(queries, keys, values, mask=None if mask is None else mask[None, None], is_causal=causal))


def attention_gradients(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    def total(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
        return jax.nn.dot_product_attention(queries, keys, values, mask=jnp.asarray(mask[None, None])).sum()

    dqueries, dkeys, dvalues = map(np.asarray, jax.jit(jax.grad(total, argnums=(0, 1, 2)))(queries, keys, values))
    return dqueries, dkeys, dvalues


def attention_with_dropout(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    class Model(nnx.Module):
        def __call__(self, queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
            return nnx.dot_product_attention(queries, keys, values, dropout_rate=rate, dropout_rng=jax.random.key(0))

    model = Model()
    model.eval()
    call: Any = nnx.jit(lambda model, *arrays: model(*arrays))
    return np.asarray(call(model, queries, keys, values))


def _layer(size: int, heads: int, rate: float) -> nnx.MultiHeadAttention:
    """With projections that change nothing."""

    def identity(key: jax.Array, shape: tuple[int, int], dtype: Any) -> jax.Array:
        return jnp.eye(*shape, dtype=dtype)

    return nnx.MultiHeadAttention(
        heads, size, dropout_rate=rate, use_bias=False, decode=False, kernel_init=identity, rngs=nnx.Rngs(0)
    )


def multi_head_attention(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    heads: int = 1,
    rate: float = 0.0,
    training: bool = False,
    weights: bool = False,
) -> np.ndarray:
    @nnx.jit
    def call(layer: nnx.MultiHeadAttention, *arrays: jax.Array) -> Any:
        return layer(*arrays, mask=given, deterministic=not training, sow_weights=weights)

    given = None if mask is None else jnp.asarray(mask[None, None])
    arrays = (jnp.asarray(queries), jnp.asarray(keys), jnp.asarray(values))
    return np.asarray(call(_layer(queries.shape[-1], heads, rate), *arrays))


def fresh_multi_head_attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    arrays = (jnp.asarray(queries), jnp.asarray(keys), jnp.asarray(values))
    return np.asarray(_layer(queries.shape[-1], 1, rate)(*arrays))
