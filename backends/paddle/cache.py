"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import NamedTuple

import paddle
from paddle import Tensor


class KeyValueCache(NamedTuple):
    """Keys and values [B, H, length, D/H] of all steps so far, grown by concatenation.

    ``max_steps`` changes nothing here: Paddle's matmul copies a view of a longer buffer, which together with the
    write into the buffer takes more than twice the time of a concatenation (measured).
    """

    length: int = 0
    max_steps: int | None = None
    key_buffer: Tensor | None = None
    value_buffer: Tensor | None = None

    @property
    def keys(self) -> Tensor:
        return self.key_buffer

    @property
    def values(self) -> Tensor:
        return self.value_buffer

    def append(self, keys: Tensor, values: Tensor) -> KeyValueCache:
        length = self.length + keys.shape[2]
        if self.length:
            keys = paddle.concat([self.key_buffer, keys], axis=2)
            values = paddle.concat([self.value_buffer, values], axis=2)
        return KeyValueCache(length, self.max_steps, keys, values)

    def reorder(self, rows: Tensor) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        return self._replace(key_buffer=self.key_buffer.index_select(rows), value_buffer=self.value_buffer.index_select(rows))


class BlockCache(NamedTuple):
    """One decoder block's memory: its own steps, and the encoder's keys and values with their mask, made once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[Tensor, Tensor, Tensor | None] | None = None
