"""flax linen's own attention over a memory of other lengths."""

import jax.numpy as jnp
from flax import linen


class Attention(linen.Module):
    """``linen.MultiHeadDotProductAttention``. x [B, T, D], memory [B, S, D], lens [B] -> [B, T, D]."""

    size: int = 16
    heads: int = 4

    def setup(self):
        self.attention = linen.MultiHeadDotProductAttention(num_heads=self.heads, qkv_features=self.size)

    def __call__(self, x, memory, lens):
        S = memory.shape[1]
        inside = (jnp.arange(S) < lens[:, None])[:, None, None, :]
        return self.attention(x, memory, mask=inside)
