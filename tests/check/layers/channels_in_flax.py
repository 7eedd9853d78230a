"""The network of convolutions of channels_in_torch.py with flax' own layers, which have their channels last."""

import jax
from flax import nnx


class Last(nnx.Module):
    def __init__(self, size=6, epsilon=1e-5, padding="SAME", activation="silu", *, rngs):
        self.conv = nnx.Conv(size, 2 * size, (3,), padding=padding, rngs=rngs)
        self.norm = nnx.GroupNorm(2 * size, 2, epsilon=epsilon, use_fast_variance=False, rngs=rngs)
        self.dense = nnx.Linear(2 * size, 3, rngs=rngs)
        self.activation = getattr(jax.nn, activation)

    def __call__(self, x):
        return self.dense(self.activation(self.norm(self.conv(x))))
