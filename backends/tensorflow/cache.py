"""The decoder's memory: projected keys and values of the steps so far."""

from __future__ import annotations

from typing import NamedTuple

import keras
import tensorflow as tf

from .embedding import check_room


class KeyValueCache(NamedTuple):
    """Keys and values [B, G, length, D/H] of all steps so far, grown by concatenation.

    With ``max_steps`` they are the start of buffers [B, G, max_steps, D/H], allocated at the first append. Tensors
    never change: each append returns a new cache. Numbers are tensors too, since Keras refuses a mixed state.
    """

    length: tf.Tensor
    max_steps: tf.Tensor | None = None
    key_buffer: tf.Tensor | None = None
    value_buffer: tf.Tensor | None = None
    left_padding: tf.Tensor | None = None

    @property
    def keys(self) -> tf.Tensor:
        return self.key_buffer if self.max_steps is None else self.key_buffer[:, :, : self.length]

    @property
    def values(self) -> tf.Tensor:
        return self.value_buffer if self.max_steps is None else self.value_buffer[:, :, : self.length]

    @property
    def mask(self) -> tf.Tensor | None:
        """[B, 1, 1, length]: True where a step is a token; None where all are."""
        if self.left_padding is None:
            return None
        return tf.range(self.length) >= self.left_padding[:, None, None, None]

    def append(self, keys: tf.Tensor, values: tf.Tensor) -> KeyValueCache:
        length = self.length + tf.shape(keys)[2]
        if self.max_steps is None:
            if self.key_buffer is not None:
                keys = tf.concat((self.key_buffer, keys), axis=2)
                values = tf.concat((self.value_buffer, values), axis=2)
            return self._replace(length=length, key_buffer=keys, value_buffer=values)
        check_room(self.length, keras.ops.shape(keys)[2], self.max_steps, "max_steps")
        allocated, start = self if self.key_buffer is not None else self._allocated(keys), (0, 0, self.length, 0)
        key_buffer = keras.ops.slice_update(allocated.key_buffer, start, keys)
        value_buffer = keras.ops.slice_update(allocated.value_buffer, start, values)
        return self._replace(length=length, key_buffer=key_buffer, value_buffer=value_buffer)

    def _allocated(self, keys: tf.Tensor) -> KeyValueCache:
        """Return the cache with buffers for keys and values of this form."""
        B, H, _, width = keras.ops.shape(keys)
        buffer = tf.zeros((B, H, self.max_steps, width), keys.dtype)
        return self._replace(key_buffer=buffer, value_buffer=buffer)

    def reorder(self, rows: tf.Tensor) -> KeyValueCache:
        """Row r continues from what was row ``rows[r]``."""
        left_padding = None if self.left_padding is None else tf.gather(self.left_padding, rows)
        keys, values = tf.gather(self.key_buffer, rows), tf.gather(self.value_buffer, rows)
        return self._replace(key_buffer=keys, value_buffer=values, left_padding=left_padding)


class BlockCache(NamedTuple):
    """The memory of a decoder block: its own steps, and the encoder's keys and values, projected once."""

    self_attention: KeyValueCache
    cross_attention: tuple[tf.Tensor, tf.Tensor] | None = None

    @classmethod
    def start(cls, max_steps: int | tf.Tensor | None = None, left_padding: tf.Tensor | None = None) -> BlockCache:
        limit = None if max_steps is None else tf.convert_to_tensor(max_steps)
        padding = None if left_padding is None else tf.cast(left_padding, tf.int32)
        return cls(KeyValueCache(tf.constant(0), limit, left_padding=padding))
