"""Keras' own attention over a memory of other lengths, on any of Keras' backends."""

import keras
from keras import ops


class Attention(keras.layers.Layer):
    """``keras.layers.MultiHeadAttention``. x [B, T, D], memory [B, S, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, **options):
        super().__init__(**options)
        self.attention = keras.layers.MultiHeadAttention(heads, size // heads, name="attention", dtype=self.dtype_policy)

    def build(self, x_shape, memory_shape, lens_shape):
        self.attention.build(x_shape, memory_shape)
        self.built = True

    def call(self, x, memory, lens):
        positions = ops.arange(ops.shape(memory)[1], dtype="int32")
        inside = positions[None, None, :] < ops.cast(lens, "int32")[:, None, None]
        return self.attention(x, memory, attention_mask=inside)
