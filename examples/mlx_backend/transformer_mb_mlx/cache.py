"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import mlx.core as mx
import numpy

from transformer_mb.checks import check_positions


class KeyValueCache(NamedTuple):
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation."""

    length: int = 0
    max_steps: int | None = None
    keys: Any = None
    values: Any = None
    left_padding: numpy.ndarray | None = None

    @property
    def mask(self) -> numpy.ndarray | None:
        """[B, 1, 1, length]: True where a step is a token; None where all are."""
        if self.left_padding is None:
            return None
        return numpy.arange(self.length) >= self.left_padding[:, None, None, None]

    def append(self, keys: Any, values: Any) -> KeyValueCache:
        if self.max_steps is not None:
            check_positions(self.length, keys.shape[2], self.max_steps, "max_steps")
        if self.length:
            keys = mx.concatenate((self.keys, keys), axis=2)
            values = mx.concatenate((self.values, values), axis=2)
        return self._replace(length=keys.shape[2], keys=keys, values=values)

    def reorder(self, rows: numpy.ndarray) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else self.left_padding[rows]
        keys, values = (mx.take(each, mx.array(rows), axis=0) for each in (self.keys, self.values))
        return self._replace(keys=keys, values=values, left_padding=left_padding)


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values, projected once."""

    self_attention: KeyValueCache = KeyValueCache()
    cross_attention: tuple[Any, Any] | None = None
