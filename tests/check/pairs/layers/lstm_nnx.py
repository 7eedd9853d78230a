"""A port of torch.nn.LSTM, of one direction, to flax nnx."""

import jax
import jax.numpy as jnp
from flax import nnx


class Recurrent(nnx.Module):
    """An LSTM whose gates lie in the order input, forget, cell, output. x [B, T, D] -> outputs [B, T, H] and the last state."""

    def __init__(self, size=6, hidden=8, *, rngs):
        self.ih = nnx.Linear(size, 4 * hidden, rngs=rngs)
        self.hh = nnx.Linear(hidden, 4 * hidden, rngs=rngs)

    def __call__(self, x):
        B, T, _ = x.shape
        hidden = cell = jnp.zeros((B, self.hh.in_features), x.dtype)
        outputs = []
        for t in range(T):
            i, f, g, o = jnp.split(self.ih(x[:, t]) + self.hh(hidden), 4, axis=-1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            outputs.append(hidden)
        return {"outputs": jnp.stack(outputs, axis=1), "hidden": hidden, "cell": cell}
