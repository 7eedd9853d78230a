"""flax nnx's own attention over a memory of other lengths."""

import jax.numpy as jnp
from flax import nnx


class Attention(nnx.MultiHeadAttention):
    """``nnx.MultiHeadAttention``. x [B, T, D], memory [B, S, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, causal=False, *, rngs):
        super().__init__(num_heads=heads, in_features=size, decode=False, rngs=rngs)
        self.causal = causal

    def __call__(self, x, memory, lens):
        T, S = x.shape[1], memory.shape[1]
        inside = (jnp.arange(S) < lens[:, None])[:, None, None, :]
        past = jnp.tri(T, S, dtype=bool) if self.causal else True
        return super().__call__(x, memory, mask=inside & past)
