"""Drawing tokens: uniform numbers of a row's own, and which token of a step's probabilities such a number says."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from transformer_mb.decoding.sampling import Truncation


def uniforms(seeds: Array, steps: int) -> Array:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""

    def row(seed: Array) -> Array:
        return jax.random.uniform(jax.random.wrap_key_data(seed, impl="threefry2x32"), (steps,), jnp.float32)

    return jax.vmap(row)(seeds.astype(jnp.uint32))


def drawn(logits: Array, uniform: Array, truncation: Truncation) -> Array:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
    ids = jnp.argsort(logits, axis=-1, stable=True, descending=True)  # of equal logits the lowest id first
    falling = jnp.take_along_axis(logits, ids, axis=-1)
    weights = jnp.exp((falling - falling[:, :1]) / truncation.temperature)
    weights = jnp.where(jnp.arange(weights.shape[-1]) < truncation.top_k, weights, 0.0)
    before = jnp.cumsum(weights, axis=-1) - weights
    weights = jnp.where(before < truncation.top_p * weights.sum(axis=-1, keepdims=True), weights, 0.0)
    total = jnp.cumsum(weights, axis=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = jnp.minimum(place, (weights > 0.0).sum(axis=-1) - 1)
    return jnp.take_along_axis(ids, place[:, None], axis=-1)[:, 0]
