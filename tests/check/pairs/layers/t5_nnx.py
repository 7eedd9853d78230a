"""A port of one encoder block of T5 to flax nnx."""

import math

import jax
import jax.numpy as jnp
from flax import nnx


class Norm(nnx.Module):
    """A scale after division by the root of the mean square: no mean is taken off, nothing is added."""

    def __init__(self, size, eps=1e-6):
        self.weight, self.eps = nnx.Param(jnp.ones(size)), eps

    def __call__(self, x):
        return self.weight[...] * (x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + self.eps))


class SelfAttention(nnx.Module):
    """Attention whose scores are not scaled, with a learned bias by the bucket of the distance."""

    def __init__(self, size, heads, head_size, buckets, distance, *, rngs):
        self.heads, self.buckets, self.distance = heads, buckets, distance
        inner = heads * head_size
        self.q = nnx.Linear(size, inner, use_bias=False, rngs=rngs)
        self.k = nnx.Linear(size, inner, use_bias=False, rngs=rngs)
        self.v = nnx.Linear(size, inner, use_bias=False, rngs=rngs)
        self.o = nnx.Linear(inner, size, use_bias=False, rngs=rngs)
        self.relative_attention_bias = nnx.Embed(buckets, heads, rngs=rngs)

    def bucket(self, steps):
        """The bucket of each distance, int: half of them for keys that come later; exact near by, logarithmic beyond."""
        half = self.buckets // 2
        exact = half // 2
        far = jnp.abs(steps)
        log = jnp.log(jnp.maximum(far, 1).astype(jnp.float32) / exact) / math.log(self.distance / exact)
        wide = jnp.minimum(exact + (log * (half - exact)).astype(jnp.int32), half - 1)
        return jnp.where(steps > 0, half, 0) + jnp.where(far < exact, far, wide)

    def __call__(self, x, lens):
        B, T, _ = x.shape
        q, k, v = (of(x).reshape(B, T, self.heads, -1).swapaxes(1, 2) for of in (self.q, self.k, self.v))
        steps = jnp.arange(T)[None, :] - jnp.arange(T)[:, None]  # key less query
        bias = self.relative_attention_bias(self.bucket(steps)).transpose(2, 0, 1)  # [H, T, T]
        scores = q @ k.swapaxes(-2, -1) + bias
        scores = jnp.where(jnp.arange(T) < lens[:, None, None, None], scores, -jnp.inf)
        return self.o((jax.nn.softmax(scores, axis=-1) @ v).swapaxes(1, 2).reshape(B, T, -1))


class Attending(nnx.Module):
    """Attention of the normalised input, added to the input."""

    def __init__(self, *sizes, rngs):
        self.SelfAttention = SelfAttention(*sizes, rngs=rngs)
        self.layer_norm = Norm(sizes[0])

    def __call__(self, x, lens):
        return x + self.SelfAttention(self.layer_norm(x), lens)


class FeedForward(nnx.Module):
    """Two linear maps of the normalised input with ReLU between, added to the input."""

    def __init__(self, size, hidden, *, rngs):
        self.wi = nnx.Linear(size, hidden, use_bias=False, rngs=rngs)
        self.wo = nnx.Linear(hidden, size, use_bias=False, rngs=rngs)
        self.layer_norm = Norm(size)

    def __call__(self, x):
        return x + self.wo(jax.nn.relu(self.wi(self.layer_norm(x))))


class Block(nnx.Module):
    """An encoder block of T5. x [B, T, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, head_size=5, hidden=24, buckets=8, distance=12, *, rngs):
        self.attending = Attending(size, heads, head_size, buckets, distance, rngs=rngs)
        self.feed_forward = FeedForward(size, hidden, rngs=rngs)

    def __call__(self, x, lens):
        return self.feed_forward(self.attending(x, lens))
