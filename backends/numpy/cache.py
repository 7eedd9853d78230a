"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transformer_mb.checks import check_positions


class KeyValueCache(NamedTuple):
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation.

    With ``max_steps`` they are views of buffers [B, G, max_steps, D/H], allocated at the first append and
    written in place; a new cache is returned each time, and older ones keep their shorter views.
    """

    length: int = 0
    max_steps: int | None = None
    key_buffer: np.ndarray | None = None
    value_buffer: np.ndarray | None = None
    left_padding: np.ndarray | None = None

    @property
    def keys(self) -> np.ndarray:
        return self.key_buffer[:, :, : self.length]

    @property
    def values(self) -> np.ndarray:
        return self.value_buffer[:, :, : self.length]

    @property
    def mask(self) -> np.ndarray | None:
        """[B, 1, 1, length]: True where a step is a token; None where all are."""
        if self.left_padding is None:
            return None
        return np.arange(self.length) >= self.left_padding[:, None, None, None]

    def append(self, keys: np.ndarray, values: np.ndarray) -> KeyValueCache:
        length = self.length + keys.shape[2]
        if self.max_steps is None:
            if self.length:
                keys = np.concatenate((self.key_buffer, keys), axis=2)
                values = np.concatenate((self.value_buffer, values), axis=2)
            return self._replace(length=length, key_buffer=keys, value_buffer=values)
        check_positions(self.length, keys.shape[2], self.max_steps, "max_steps")
        key_buffer, value_buffer = self.key_buffer, self.value_buffer
        if key_buffer is None:
            key_buffer = np.empty((*keys.shape[:2], self.max_steps, keys.shape[3]), keys.dtype)
            value_buffer = np.empty_like(key_buffer)
        key_buffer[:, :, self.length : length] = keys
        value_buffer[:, :, self.length : length] = values
        return self._replace(length=length, key_buffer=key_buffer, value_buffer=value_buffer)

    def reorder(self, rows: np.ndarray) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else self.left_padding[rows]
        keys, values = self.key_buffer[rows], self.value_buffer[rows]
        return self._replace(key_buffer=keys, value_buffer=values, left_padding=left_padding)


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values with their mask, made once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[np.ndarray, np.ndarray, np.ndarray | None] | None = None
