"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import Any, NamedTuple

from mxnet import np as mnp

from transformer_mb.checks import check_positions


class KeyValueCache(NamedTuple):
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation.

    ``max_steps`` is a limit here, and allocates nothing: MXNet has no view of a buffer's first steps, so that reading
    them would copy as much as the concatenation does, and writing into the buffer would be one more operation.
    """

    length: int = 0
    max_steps: int | None = None
    key_buffer: mnp.ndarray | None = None
    value_buffer: mnp.ndarray | None = None
    left_padding: mnp.ndarray | None = None

    @property
    def keys(self) -> mnp.ndarray:
        return self.key_buffer

    @property
    def values(self) -> mnp.ndarray:
        return self.value_buffer

    @property
    def mask(self) -> mnp.ndarray | None:
        """[B, 1, 1, length]: True where a step is a token; None where all are."""
        if self.left_padding is None:
            return None
        steps = mnp.arange(self.length, dtype=self.left_padding.dtype, ctx=self.left_padding.ctx)
        return steps >= self.left_padding.reshape(-1, 1, 1, 1)

    def append(self, keys: mnp.ndarray, values: mnp.ndarray) -> KeyValueCache:
        if self.max_steps is not None:
            check_positions(self.length, keys.shape[2], self.max_steps, "max_steps")
        length = self.length + keys.shape[2]
        if self.length:
            keys = mnp.concatenate((self.key_buffer, keys), axis=2)
            values = mnp.concatenate((self.value_buffer, values), axis=2)
        return self._replace(length=length, key_buffer=keys, value_buffer=values)

    def reorder(self, rows: mnp.ndarray) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else self.left_padding.take(rows, axis=0)
        keys, values = self.key_buffer.take(rows, axis=0), self.value_buffer.take(rows, axis=0)
        return self._replace(key_buffer=keys, value_buffer=values, left_padding=left_padding)


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values with their mask, made once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[mnp.ndarray, mnp.ndarray, Any] | None = None
