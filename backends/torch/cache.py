"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import _register_namedtuple

from transformer_mb.checks import check_positions


class KeyValueCache(NamedTuple):
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation.

    With ``max_steps`` they are views of buffers [B, G, max_steps, D/H], allocated at the first append and
    written in place; a new cache is returned each time, and older ones keep their shorter views.
    """

    length: int = 0
    max_steps: int | None = None
    key_buffer: Tensor | None = None
    value_buffer: Tensor | None = None
    left_padding: Tensor | None = None

    @property
    def keys(self) -> Tensor:
        return self.key_buffer[:, :, : self.length]

    @property
    def values(self) -> Tensor:
        return self.value_buffer[:, :, : self.length]

    @property
    def mask(self) -> Tensor | None:
        """[B, 1, 1, length]: True where a step is a token; None where all are."""
        if self.left_padding is None:
            return None
        return torch.arange(self.length, device=self.left_padding.device) >= self.left_padding[:, None, None, None]

    def append(self, keys: Tensor, values: Tensor) -> KeyValueCache:
        length = self.length + keys.shape[2]
        if self.max_steps is None:
            if self.length:
                keys = torch.cat((self.key_buffer, keys), dim=2)
                values = torch.cat((self.value_buffer, values), dim=2)
            return self._replace(length=length, key_buffer=keys, value_buffer=values)
        check_positions(self.length, keys.shape[2], self.max_steps, "max_steps")
        key_buffer, value_buffer = self.key_buffer, self.value_buffer
        if key_buffer is None:
            key_buffer = keys.new_empty(*keys.shape[:2], self.max_steps, keys.shape[3])
            value_buffer = torch.empty_like(key_buffer)
        key_buffer[:, :, self.length : length] = keys
        value_buffer[:, :, self.length : length] = values
        return self._replace(length=length, key_buffer=key_buffer, value_buffer=value_buffer)

    def reorder(self, rows: Tensor) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else self.left_padding[rows]
        keys, values = self.key_buffer[rows], self.value_buffer[rows]
        return self._replace(key_buffer=keys, value_buffer=values, left_padding=left_padding)


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values with their mask, made once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[Tensor, Tensor, Tensor | None] | None = None


for _kind in (KeyValueCache, BlockCache):  # by which torch.export.save writes what an exported decoder returns
    _register_namedtuple(_kind, serialized_type_name=f"{_kind.__module__}.{_kind.__qualname__}")
