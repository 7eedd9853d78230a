"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.layer_calls import Called
from transformer_mb.positions import rotary_table

from .embedding import check_room, rows_at


class RotaryEncoding(Called, nnx.Module):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is a constant of the compiled program."""

    def __init__(self, width: int, max_len: int, *, base: float, layout: str):
        self.max_len = max_len
        self.layout = layout
        self.sizes = max_len, width, base, layout
        rotary_table(*self.sizes)  # refuses an odd width here, not at the first call

    def __call__(self, X: Array, offset: Any = 0) -> Array:
        T = X.shape[-2]
        check_room(offset, T, self.max_len)
        dtype = jnp.promote_types(X.dtype, jnp.float32)  # in two bytes an angle would have no digits
        rows = rows_at(rotary_table(*self.sizes), offset, T, dtype)
        return (X * rows[:, 0] + self.swapped(X) * rows[:, 1]).astype(X.dtype)

    def swapped(self, X: Array) -> Array:
        """Return each number's partner in its place."""
        if self.layout == "halves":
            first, second = jnp.split(X, 2, axis=-1)
            return jnp.concatenate((second, first), axis=-1)
        return jnp.flip(X.reshape(*X.shape[:-1], -1, 2), axis=-1).reshape(X.shape)
