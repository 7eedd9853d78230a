"""Layers in flax, nnx and linen, ported from those in PyTorch; ``wrong`` is a mistake by name."""

import jax
import jax.numpy as jnp
import optax
from flax import linen, nnx


class Attention(nnx.Module):
    def __init__(self, size, heads, wrong, rngs):
        self.q, self.k, self.v, self.o = (nnx.Linear(size, size, rngs=rngs) for _ in range(4))
        self.heads, self.wrong = heads, wrong

    def __call__(self, x, mask):
        batch, steps, size = x.shape

        def split(y):
            return y.reshape(batch, steps, self.heads, size // self.heads).transpose(0, 2, 1, 3)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        scores = q @ k.transpose(0, 1, 3, 2)
        if self.wrong != "no scale":
            scores /= (size // self.heads) ** 0.5
        if self.wrong == "single inside":
            scores = scores.astype(jnp.float32)
        weights = jax.nn.softmax(jnp.where(mask[:, None, None, :], scores, -jnp.inf)).astype(x.dtype)
        return self.o((weights @ v).transpose(0, 2, 1, 3).reshape(x.shape))


class Block(nnx.Module):
    def __init__(self, size, heads=2, wrong=None, *, rngs):
        eps = 1e-6 if wrong == "epsilon" else 1e-5
        self.attn = Attention(size, heads, wrong, rngs)
        self.norm1 = nnx.LayerNorm(size, epsilon=eps, use_fast_variance=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(size, epsilon=1e-5, use_fast_variance=False, rngs=rngs)
        self.fc1, self.fc2 = nnx.Linear(size, 2 * size, rngs=rngs), nnx.Linear(2 * size, size, rngs=rngs)
        self.wrong = wrong

    def __call__(self, x, mask):
        past = jax.lax.stop_gradient(x) if self.wrong == "no gradient past" else x
        h = self.norm1(past + self.attn(x, mask))
        inner = self.fc1(h)
        if self.wrong == "no gradient":
            inner = jax.lax.stop_gradient(inner)
        out = self.fc2(jax.nn.gelu(inner, approximate=self.wrong == "tanh"))
        return self.norm2(out if self.wrong == "no residual" else h + out)


class Perceptron(nnx.Module):
    def __init__(self, size, rate=0.0, broadcast=(), *, rngs):
        self.one, self.two = nnx.Linear(size, 2 * size, rngs=rngs), nnx.Linear(2 * size, 3, rngs=rngs)
        self.norm = nnx.LayerNorm(2 * size, epsilon=1e-5, use_fast_variance=False, rngs=rngs)
        self.drop = nnx.Dropout(rate, broadcast_dims=broadcast, rngs=rngs)

    def __call__(self, x):
        return self.two(self.drop(jnp.tanh(self.norm(self.one(x)))))


class Attending(nnx.Module):
    def __init__(self, size, rate, *, rngs):
        self.attn = nnx.MultiHeadAttention(2, size, dropout_rate=rate, broadcast_dropout=False, decode=False, rngs=rngs)

    def __call__(self, x):
        return self.attn(x)


class LinenPerceptron(linen.Module):
    size: int

    @linen.compact
    def __call__(self, x):
        x = linen.Dense(2 * self.size, name="one")(x)
        x = linen.LayerNorm(1e-5, use_fast_variance=False, name="norm")(x)
        return linen.Dense(3, name="two")(jnp.tanh(x))


def adam():
    return optax.adam(1e-2)


def other_adam():
    return optax.adam(1e-2, b2=0.99)
