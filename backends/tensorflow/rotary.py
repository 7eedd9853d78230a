"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import keras
import tensorflow as tf

from transformer_mb.layer_calls import Called
from transformer_mb.positions import rotary_table

from .embedding import check_room


@keras.saving.register_keras_serializable("transformer_mb")
class RotaryEncoding(Called, keras.layers.Layer):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is no parameter and is never saved."""

    _every_call = ("training",)

    def __init__(self, width: int, max_len: int, *, base: float, layout: str, **kwargs: Any):
        super().__init__(**kwargs)
        self.autocast = False  # without weights, the dtype is that of the input
        self._allow_non_tensor_positional_args = True  # the offset
        self.max_len = max_len
        self.layout = layout
        self.sizes = max_len, width, base, layout
        rotary_table(*self.sizes)  # refuses an odd width here, not at the first call
        self.built = True

    def call(self, X: tf.Tensor, offset: int | tf.Tensor = 0) -> tf.Tensor:
        T = keras.ops.shape(X)[-2]
        check_room(offset, T, self.max_len)
        rows = self.table(X.dtype)[offset : offset + T]
        return self._turned(X, rows[:, 0], rows[:, 1])

    def table(self, dtype: tf.DType) -> tf.Tensor:
        """[max_len, 2, d] in a dtype; but in two bytes an angle would have no digits."""
        return _table(*self.sizes, tf.float64 if dtype == tf.float64 else tf.float32)

    def _turned(self, X: tf.Tensor, cosines: tf.Tensor, sines: tf.Tensor) -> tf.Tensor:
        """X [..., d] by what ``positions.rotary_table`` holds of its position."""
        heads = tf.cast(X, cosines.dtype)
        if self.layout == "halves":
            swapped = tf.roll(heads, heads.shape[-1] // 2, axis=-1)
        else:
            swapped = tf.reshape(tf.stack((heads[..., 1::2], heads[..., ::2]), axis=-1), tf.shape(heads))
            swapped.set_shape(heads.shape)
        return tf.cast(heads * cosines + swapped * sines, X.dtype)


@lru_cache(maxsize=16)
def _table(max_len: int, width: int, base: float, layout: str, dtype: tf.DType) -> tf.Tensor:
    """Return the one table for all layers of a model, which outlives the graph that asks first."""
    with tf.init_scope():
        return tf.constant(rotary_table(max_len, width, base, layout), dtype)
