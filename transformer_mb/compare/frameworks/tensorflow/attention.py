"""Keras: keras.ops.dot_product_attention and keras.layers.MultiHeadAttention."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

ABSENT = {
    "attention_with_dropout": "keras.ops.dot_product_attention has no dropout.",
    "encoder": "Keras has no layer for a whole encoder; KerasHub has one.",
}


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    mask = None if mask is None else mask[None, None]
    return keras.ops.convert_to_numpy(keras.ops.dot_product_attention(queries, keys, values, mask=mask, is_causal=causal))


def attention_gradients(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = [tf.Variable(array) for array in (queries, keys, values)]
    with tf.GradientTape() as tape:
        output = tf.reduce_sum(keras.ops.dot_product_attention(*arrays, mask=mask[None, None]))
    dqueries, dkeys, dvalues = (gradient.numpy() for gradient in tape.gradient(output, arrays))
    return dqueries, dkeys, dvalues


def _layer(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, heads: int, rate: float) -> Any:
    """With projections that change nothing."""
    size = queries.shape[-1]
    layer = keras.layers.MultiHeadAttention(heads, size // heads, dropout=rate, use_bias=False, seed=0)
    layer.build(queries.shape, values.shape, keys.shape)
    layer.set_weights([np.eye(size).reshape(weight.shape) for weight in layer.weights if len(weight.shape) > 1])
    return layer


def multi_head_attention(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    heads: int = 1,
    rate: float = 0.0,
    training: bool = False,
    weights: bool = False,
) -> np.ndarray:
    layer = _layer(queries, keys, values, heads, rate)
    mask = None if mask is None else mask[None]
    output = layer(queries, values, keys, attention_mask=mask, return_attention_scores=weights, training=training)
    return keras.ops.convert_to_numpy(output[0] if weights else output)


def fresh_multi_head_attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    return keras.ops.convert_to_numpy(_layer(queries, keys, values, 1, rate)(queries, values, keys))
