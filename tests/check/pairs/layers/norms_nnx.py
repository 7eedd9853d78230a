"""PyTorch's norms in flax nnx: layer, root mean square, group and batch."""

import jax
import jax.numpy as jnp
from flax import nnx


class BatchNorm(nnx.Module):
    """Normalise each feature by the mean and the biased variance of the batch. rows [N, D] -> [N, D]."""

    def __init__(self, size):
        self.scale, self.bias = nnx.Param(jnp.ones(size)), nnx.Param(jnp.zeros(size))

    def __call__(self, rows):
        normal = (rows - rows.mean(0)) * jax.lax.rsqrt(rows.var(0) + 1e-5)
        return normal * self.scale[...] + self.bias[...]


class Norms(nnx.Module):
    """x [B, T, 12] -> the norms' outputs by name, and what batch norm remembers: a tenth of the batch's statistics."""

    def __init__(self, size=12, *, rngs):
        self.layer = nnx.LayerNorm(size, epsilon=1e-5, use_fast_variance=False, rngs=rngs)
        self.root = nnx.RMSNorm(size, epsilon=1e-6, rngs=rngs)
        self.group = nnx.GroupNorm(size, num_groups=3, epsilon=1e-5, use_fast_variance=False, rngs=rngs)
        self.batch = BatchNorm(size)

    def __call__(self, x):
        rows = x.reshape(-1, x.shape[-1])
        kept = jax.lax.stop_gradient(rows)
        mean, variance = kept.mean(0), kept.var(0, ddof=1)
        return {
            "layer": self.layer(x),
            "root": self.root(x),
            "group": self.group(x),
            "batch": self.batch(rows).reshape(x.shape),
            "remembered": (0.1 * mean, 0.9 + 0.1 * variance),
        }
