"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import NamedTuple

import paddle
from paddle import Tensor

from transformer_mb.checks import check_positions


class KeyValueCache(NamedTuple):
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation.

    ``max_steps`` is a limit here, and allocates nothing: Paddle's matmul copies a view of a longer buffer, which together
    with the write into the buffer takes more than twice the time of a concatenation (measured).
    """

    length: int = 0
    max_steps: int | None = None
    key_buffer: Tensor | None = None
    value_buffer: Tensor | None = None
    left_padding: Tensor | None = None

    @property
    def keys(self) -> Tensor:
        return self.key_buffer

    @property
    def values(self) -> Tensor:
        return self.value_buffer

    @property
    def mask(self) -> Tensor | None:
        """[B, 1, 1, length]: True where a step is a token; None where all are."""
        if self.left_padding is None:
            return None
        return paddle.arange(self.length, dtype=self.left_padding.dtype) >= self.left_padding.reshape([-1, 1, 1, 1])

    def append(self, keys: Tensor, values: Tensor) -> KeyValueCache:
        if self.max_steps is not None:
            check_positions(self.length, keys.shape[2], self.max_steps, "max_steps")
        length = self.length + keys.shape[2]
        if self.length:
            keys = paddle.concat([self.key_buffer, keys], axis=2)
            values = paddle.concat([self.value_buffer, values], axis=2)
        return self._replace(length=length, key_buffer=keys, value_buffer=values)

    def reorder(self, rows: Tensor) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else self.left_padding.index_select(rows)
        keys, values = self.key_buffer.index_select(rows), self.value_buffer.index_select(rows)
        return self._replace(key_buffer=keys, value_buffer=values, left_padding=left_padding)


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values with their mask, made once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[Tensor, Tensor, Tensor | None] | None = None
