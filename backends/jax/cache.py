"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from transformer_mb.checks import check_positions


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class KeyValueCache:
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation.

    With ``max_steps`` they live in buffers [B, G, max_steps, D/H], allocated at the first append. A compiled loop
    needs shapes that stay: in it ``length`` is traced, ``keys`` and ``values`` are the whole buffers, and ``visible``
    hides what is not filled. Steps beyond them, which nothing refuses there, give NaN.

    ``left_padding`` [B]: how many steps at a row's start are no tokens; ``visible`` hides them.
    """

    length: Any = 0
    max_steps: int | None = None
    key_buffer: Array | None = None
    value_buffer: Array | None = None
    left_padding: Array | None = None

    @property
    def keys(self) -> Array:
        return self._within(self.key_buffer)

    @property
    def values(self) -> Array:
        return self._within(self.value_buffer)

    def _within(self, buffer: Array) -> Array:
        """Cut a buffer with room for more to what is there; a size that jax.export leaves open is all of its buffer."""
        return buffer if self._traced or self.max_steps is None else buffer[:, :, : int(self.length)]

    @property
    def _traced(self) -> bool:
        return isinstance(self.length, jax.core.Tracer)

    def reach(self, more: int) -> int | None:
        """Return how many ``keys`` there are after ``more`` steps; under a trace a sum of numbers is traced too."""
        length = self.length + more
        return self.max_steps if isinstance(length, jax.core.Tracer) else int(length)

    def append(self, keys: Array, values: Array) -> KeyValueCache:
        length = self.length + keys.shape[2]
        if self.max_steps is None:
            if self.length:
                keys = jnp.concatenate((self.key_buffer, keys), axis=2)
                values = jnp.concatenate((self.value_buffer, values), axis=2)
            return replace(self, length=length, key_buffer=keys, value_buffer=values)
        # A traced length is no number yet; that of one piece is.
        check_positions(0 if self._traced else int(self.length), keys.shape[2], self.max_steps, "max_steps")
        key_buffer, value_buffer = self.key_buffer, self.value_buffer
        if key_buffer is None:
            key_buffer = jnp.zeros((*keys.shape[:2], self.max_steps, keys.shape[3]), keys.dtype)
            value_buffer = jnp.zeros_like(key_buffer)
        if self._traced:
            # An update beyond the end goes over what is there, as if nothing were wrong: keys that are no numbers show it.
            keys = jnp.where(length <= self.max_steps, keys, jnp.nan)
        key_buffer = jax.lax.dynamic_update_slice_in_dim(key_buffer, keys, self.length, axis=2)
        value_buffer = jax.lax.dynamic_update_slice_in_dim(value_buffer, values, self.length, axis=2)
        return replace(self, length=length, key_buffer=key_buffer, value_buffer=value_buffer)

    def visible(self, num_queries: int, causal: bool) -> Array | None:
        """[T, S] or [B, 1, T, S]: what the last ``num_queries`` steps see of ``keys``; None when that is all before them."""
        if not self._traced and self.left_padding is None:
            return None
        steps = jnp.arange(self.keys.shape[2])
        last = jnp.arange(num_queries)[:, None] - num_queries if causal else jnp.full((num_queries, 1), -1)
        seen = steps <= self.length + last
        return seen if self.left_padding is None else seen & (steps >= self.left_padding[:, None, None, None])

    def reorder(self, rows: Array) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else self.left_padding[rows]
        keys, values = self.key_buffer[rows], self.value_buffer[rows]
        return replace(self, key_buffer=keys, value_buffer=values, left_padding=left_padding)

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        # A grown cache has its length in its shape: it stays a number under jax.jit, and the position with it.
        grown = self.max_steps is None
        children = (None if grown else self.length, self.key_buffer, self.value_buffer, self.left_padding)
        return children, (self.length if grown else None, self.max_steps)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], children: tuple[Any, ...]) -> KeyValueCache:
        length, max_steps = static
        return cls(length if max_steps is None else children[0], max_steps, *children[1:])


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values, projected once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[Array, Array] | None = None
