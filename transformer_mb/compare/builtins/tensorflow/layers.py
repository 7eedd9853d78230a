"""Keras' layers, and the functions of keras.ops for attention and activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from keras import layers, ops

from ..calls import Table, calls
from .arrays import called, gradient

# NumPy's arrays as they are: of a mask Keras makes booleans, and a tensor it leaves as it is.
given = calls(np.asarray, ops.convert_to_numpy)


def attention(queries: Any, keys: Any, values: Any, mask: Any = None, causal: bool = False) -> Any:
    mask = None if mask is None else mask[None, None]
    return ops.dot_product_attention(queries, keys, values, mask=mask, is_causal=causal)


def _identity_attention(queries: Any, keys: Any, values: Any, heads: int, rate: float) -> Any:
    """Make a layer whose projections are the identity."""
    size = queries.shape[-1]
    layer = layers.MultiHeadAttention(heads, size // heads, dropout=rate, use_bias=False, seed=0)
    layer.build(queries.shape, values.shape, keys.shape)
    layer.set_weights([np.eye(size).reshape(weight.shape) for weight in layer.weights if len(weight.shape) > 1])
    return layer


def multi_head_attention(*arrays: Any, heads: int = 1, rate: float = 0.0, training: bool = False, weights: bool = False) -> Any:
    queries, keys, values, *mask = arrays
    layer = _identity_attention(queries, keys, values, heads, rate)
    given = mask[0][None] if mask else None
    output = layer(queries, values, keys, attention_mask=given, return_attention_scores=weights, training=training)
    return output[0] if weights else output


def masked_softmax(scores: Any, lengths: Any) -> Any:
    within = tf.range(scores.shape[-1], dtype=lengths.dtype) < lengths[..., None]
    return layers.Softmax()(scores, mask=within)


def _holding(layer: Any, weights: Any, *shape: Any) -> Any:
    """Build a layer, set its weights and return it."""
    layer.build(*shape)
    layer.set_weights([weights])
    return layer


def batch_norm_state(X: Any, **momentum: float) -> tuple[Any, Any]:
    layer = layers.BatchNormalization(**momentum)
    layer(X, training=True)
    return layer.moving_mean, layer.moving_variance


def embed_with_padding(ids: Any, table: Any, padding: int) -> tuple[Any, Any]:
    if padding != 0:
        raise ValueError(f"padding must be 0, which alone Keras can mask, got {padding}.")
    layer = _holding(layers.Embedding(*table.shape, mask_zero=True), table)
    with tf.GradientTape() as tape:
        output = layer(ids)
        total = tf.reduce_sum(output)
    return output, tape.gradient(total, layer.embeddings.value)


TABLES: dict[str, Table] = {
    "attention": given(
        attention=attention,
        attention_with_dropout="keras.ops.dot_product_attention has no dropout.",
        multi_head_attention=multi_head_attention,
        fresh_multi_head_attention=lambda Q, K, V, rate: _identity_attention(Q, K, V, 1, rate)(Q, V, K),
        encoder="Keras has no layer for a whole encoder; KerasHub has one.",
    )
    | called(attention_gradients=gradient(attention, of=3)),
    "softmax": called(
        softmax=tf.nn.softmax,
        masked_softmax=masked_softmax,
        linear=lambda X, weight: _holding(layers.Dense(weight.shape[1], use_bias=False), weight, X.shape)(X),
    ),
    "norms": called(
        layer_norm=lambda X: layers.LayerNormalization()(X),
        layer_norm_cast=lambda X: layers.LayerNormalization(dtype=X.dtype.name)(X),
        layer_norm_of=lambda X, number: layers.LayerNormalization(number)(X),
        rms_norm=lambda X: layers.RMSNormalization(dtype=X.dtype.name)(X),
        variance=tf.math.reduce_variance,
        deviation=tf.math.reduce_std,
    ),
    "batch_norms": called(
        batch_norm=lambda X: layers.BatchNormalization()(X, training=True),
        batch_norm_called=lambda X: layers.BatchNormalization()(X),
        batch_norm_state=batch_norm_state,
        batch_norm_forward=lambda X: batch_norm_state(X)[0],
    ),
    "activations": called(
        gelu=ops.gelu,
        gelu_layer=lambda X: layers.Activation("gelu")(X),
        leaky_relu=ops.leaky_relu,
        leaky_relu_layer=lambda X: layers.LeakyReLU()(X),
        prelu_layer=lambda X: layers.PReLU()(X),
        hard_sigmoid=ops.hard_sigmoid,
        elu=ops.elu,
        softplus=ops.softplus,
        relu=ops.relu,
    ),
    "embeddings": called(
        embed=lambda ids, table: _holding(layers.Embedding(*table.shape), table)(ids),
        embed_with_padding=embed_with_padding,
        fresh_padding_row="Keras' mask_zero leaves row 0 like any other.",
    ),
}
