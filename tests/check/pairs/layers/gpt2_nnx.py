"""A port of GPT-2 to flax nnx, from its paper and the names in its checkpoints."""

from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx

LayerNorm = partial(nnx.LayerNorm, epsilon=1e-5, use_fast_variance=False)


class Table(nnx.Module):
    """Vectors by number; ``nnx.Embed`` would compute in the dtype that it was made in."""

    def __init__(self, rows, size, *, rngs):
        self.embedding = nnx.Param(jax.random.normal(rngs.params(), (rows, size)))

    def __call__(self, ids):
        return self.embedding[...][ids]


class Attention(nnx.Module):
    """Causal attention with one projection for queries, keys and values."""

    def __init__(self, size, heads, *, rngs):
        self.heads = heads
        self.c_attn = nnx.Linear(size, 3 * size, rngs=rngs)
        self.c_proj = nnx.Linear(size, size, rngs=rngs)

    def __call__(self, x):
        B, T, D = x.shape
        q, k, v = (part.reshape(B, T, self.heads, -1).swapaxes(1, 2) for part in jnp.split(self.c_attn(x), 3, axis=-1))
        scores = q @ k.swapaxes(-2, -1) * q.shape[-1] ** -0.5
        past = jnp.tri(T, T, dtype=bool)
        weights = jax.nn.softmax(jnp.where(past, scores, -jnp.inf), axis=-1)
        return self.c_proj((weights @ v).swapaxes(1, 2).reshape(B, T, D))


class FeedForward(nnx.Module):
    """Two linear maps with the tanh form of GELU between."""

    def __init__(self, size, *, rngs):
        self.c_fc = nnx.Linear(size, 4 * size, rngs=rngs)
        self.c_proj = nnx.Linear(4 * size, size, rngs=rngs)

    def __call__(self, x):
        return self.c_proj(jax.nn.gelu(self.c_fc(x), approximate=True))


class Block(nnx.Module):
    """Attention and a feed-forward network, each of the normalised input and added to it."""

    def __init__(self, size, heads, *, rngs):
        self.ln_1 = LayerNorm(size, rngs=rngs)
        self.attn = Attention(size, heads, rngs=rngs)
        self.ln_2 = LayerNorm(size, rngs=rngs)
        self.mlp = FeedForward(size, rngs=rngs)

    def __call__(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nnx.Module):
    """GPT-2 without a head on top. ids [B, T] int -> [B, T, D]."""

    def __init__(self, vocabulary=23, positions=12, size=16, heads=4, layers=2, *, rngs):
        self.wte = Table(vocabulary, size, rngs=rngs)
        self.wpe = Table(positions, size, rngs=rngs)
        self.h = nnx.List([Block(size, heads, rngs=rngs) for _ in range(layers)])
        self.ln_f = LayerNorm(size, rngs=rngs)

    def __call__(self, ids):
        x = self.wte(ids) + self.wpe(jnp.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x)
