"""jax.nn.dot_product_attention; Flax: nnx.dot_product_attention where there is dropout, and nnx.MultiHeadAttention."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

ABSENT = {"encoder": "JAX and Flax have no layer for a whole encoder."}


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    mask = None if mask is None else mask[None, None]
    # JAX computes in float32 whatever comes, unless it is told that there is float64.
    with jax.experimental.enable_x64(queries.dtype == np.float64):
        arrays = [jnp.asarray(array) for array in (queries, keys, values)]
        return np.asarray(jax.nn.dot_product_attention(*arrays, mask=mask, is_causal=causal))


def attention_gradients(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    def total(*arrays: jax.Array) -> jax.Array:
        return jax.nn.dot_product_attention(*arrays, mask=jnp.asarray(mask[None, None])).sum()

    gradients = jax.grad(total, argnums=(0, 1, 2))(*map(jnp.asarray, (queries, keys, values)))
    dqueries, dkeys, dvalues = map(np.asarray, gradients)
    return dqueries, dkeys, dvalues


def attention_with_dropout(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    class Model(nnx.Module):
        def __call__(self, *arrays: jax.Array) -> jax.Array:
            return nnx.dot_product_attention(*arrays, dropout_rate=rate, dropout_rng=jax.random.key(0))

    model = Model()
    model.eval()
    return np.asarray(model(*map(jnp.asarray, (queries, keys, values))))


def _layer(size: int, heads: int, rate: float) -> nnx.MultiHeadAttention:
    """With projections that change nothing."""
    layer = nnx.MultiHeadAttention(heads, size, dropout_rate=rate, use_bias=False, decode=False, rngs=nnx.Rngs(0))
    for part in (layer.query, layer.key, layer.value, layer.out):
        part.kernel.value = jnp.eye(size).reshape(part.kernel.value.shape)
    return layer


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
    layer = _layer(queries.shape[-1], heads, rate)
    arrays = [jnp.asarray(array) for array in (queries, keys, values)]
    given = None if mask is None else jnp.asarray(mask[None, None])
    return np.asarray(layer(*arrays, mask=given, deterministic=not training, sow_weights=weights))


def fresh_multi_head_attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    return np.asarray(_layer(queries.shape[-1], 1, rate)(*map(jnp.asarray, (queries, keys, values))))
