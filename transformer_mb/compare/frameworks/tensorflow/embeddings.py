"""Keras: keras.layers.Embedding."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

ABSENT = {
    "fresh_padding_row": "Keras' mask_zero leaves row 0 like any other.",
}


def _layer(table: np.ndarray, **options: Any) -> Any:
    layer = keras.layers.Embedding(*table.shape, **options)
    layer.build()
    layer.set_weights([table])
    return layer


def embed(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(_layer(table)(ids))


def embed_with_padding(ids: np.ndarray, table: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray]:
    if padding != 0:
        raise ValueError(f"padding must be 0, which alone Keras can mask, got {padding}.")
    layer = _layer(table, mask_zero=True)
    with tf.GradientTape() as tape:
        output = layer(ids)
        total = tf.reduce_sum(output)
    gradient = tape.gradient(total, layer.embeddings.value)
    return output.numpy(), tf.convert_to_tensor(gradient).numpy()
