"""A port of torch.nn.TransformerEncoderLayer to flax nnx."""

import jax
import jax.numpy as jnp
from flax import nnx


class SelfAttention(nnx.Module):
    """Attention whose projection is packed: rows of queries, then keys, then values."""

    def __init__(self, size, heads, *, rngs):
        self.heads = heads
        self.in_proj = nnx.Linear(size, 3 * size, rngs=rngs)
        self.out_proj = nnx.Linear(size, size, rngs=rngs)

    def __call__(self, x, lens):
        B, T, D = x.shape
        packed = self.in_proj(x).reshape(B, T, 3, self.heads, D // self.heads)
        q, k, v = (packed[:, :, i].swapaxes(1, 2) for i in range(3))  # [B, H, T, D/H]
        scores = q @ k.swapaxes(-2, -1) / jnp.sqrt(q.shape[-1]).astype(x.dtype)
        inside = jnp.arange(T) < lens[:, None, None, None]
        weights = jax.nn.softmax(jnp.where(inside, scores, -jnp.inf), axis=-1)
        return self.out_proj((weights @ v).swapaxes(1, 2).reshape(B, T, D))


class EncoderLayer(nnx.Module):
    """Attention and a feed-forward network, each added to its input and then normalised. x [B, T, D], lens [B]."""

    def __init__(self, size=16, heads=4, hidden=24, *, rngs):
        self.self_attn = SelfAttention(size, heads, rngs=rngs)
        self.linear1 = nnx.Linear(size, hidden, rngs=rngs)
        self.linear2 = nnx.Linear(hidden, size, rngs=rngs)
        self.norm1 = nnx.LayerNorm(size, epsilon=1e-5, use_fast_variance=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(size, epsilon=1e-5, use_fast_variance=False, rngs=rngs)

    def __call__(self, x, lens):
        x = self.norm1(x + self.self_attn(x, lens))
        return self.norm2(x + self.linear2(jax.nn.relu(self.linear1(x))))
