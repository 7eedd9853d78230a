"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import keras
import tensorflow as tf

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions

from .dense import Dense, products
from .dropout import Dropout
from .given import attention_mask, features, floats, lengths
from .rotary import RotaryEncoding


def sequence_mask(X: tf.Tensor, valid_len: tf.Tensor, value: float = 0) -> tf.Tensor:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1], X)
    outside = tf.range(keras.ops.shape(X)[1], dtype=valid_len.dtype) >= valid_len[:, None]
    return tf.where(outside[(..., *[None] * (X.shape.rank - 2))], tf.convert_to_tensor(value, X.dtype), X)


def masked_softmax(X: tf.Tensor, valid_lens: tf.Tensor | None = None, mask: tf.Tensor | None = None) -> tf.Tensor:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return _softmax_where(X, _allowed(X, valid_lens, mask, causal=False))


def transpose_qkv(X: tf.Tensor, num_heads: int) -> tf.Tensor:
    check_unparted(X, num_heads)
    B, T, D = keras.ops.shape(X)  # numbers where they are known, else tensors
    X = tf.reshape(X, (B, T, num_heads, D // num_heads))
    return tf.transpose(X, (0, 2, 1, 3))  # [B, T, H, D/H] -> [B, H, T, D/H]


def transpose_output(X: tf.Tensor, num_heads: int) -> tf.Tensor:
    check_parted(X, num_heads)
    *_, T, width = keras.ops.shape(X)
    X = tf.transpose(tf.reshape(X, (-1, num_heads, T, width)), (0, 2, 1, 3))
    return tf.reshape(X, (-1, T, num_heads * width))  # [B, T, H, D/H] -> [B, T, D]


def _softmax_where(scores: tf.Tensor, allowed: tf.Tensor | None) -> tf.Tensor:
    if allowed is None:
        return tf.nn.softmax(scores)

    @tf.custom_gradient
    def softmax(scores: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        # The lowest finite number, not -inf: a row without any key would give NaN.
        weights = tf.nn.softmax(tf.where(allowed, scores, scores.dtype.min))
        weights = tf.where(allowed, weights, tf.zeros((), weights.dtype))

        def gradient(change: tf.Tensor) -> tf.Tensor:
            # Where nothing is allowed the weights are 0, and so is this: it needs no mask.
            change = change * weights
            return change - weights * tf.reduce_sum(change, axis=-1, keepdims=True)

        return weights, gradient

    return softmax(scores)


def length_mask(valid_lens: tf.Tensor, shape: Sequence[Any], like: tf.Tensor) -> tf.Tensor:
    """True at the keys within ``valid_lens`` [B] or [B, T], broadcastable to scores of the given shape.

    A size of the shape is a number where it is known, else a tensor.
    """
    B, T, S = shape[0], *shape[-2:]
    lens = lengths("valid_lens", valid_lens, [(B,), (B, T)], S, like)
    lens = lens[:, None] if lens.shape.rank == 1 else lens
    lens = lens[:, None, :, None] if len(shape) == 4 else lens[:, :, None]  # [B, (1,) 1 or T, 1]
    return tf.range(S, dtype=lens.dtype) < lens


def _allowed(scores: tf.Tensor, valid_lens: tf.Tensor | None, mask: tf.Tensor | None, causal: bool) -> tf.Tensor | None:
    """The AND of all three masks, broadcastable to the scores; None when nothing is masked."""
    shape = keras.ops.shape(scores)
    T, S = shape[-2:]
    if mask is not None:
        mask = attention_mask(mask, scores.shape, scores)
    if valid_lens is not None:
        within = length_mask(valid_lens, shape, scores)
        mask = within if mask is None else mask & within
    if causal and scores.shape[-2] != 1:
        past = tf.range(S) <= tf.range(T)[:, None] + (S - T)
        mask = past if mask is None else mask & past
    return mask


def _grouped(X: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
    """[B, H, T, ...] -> [B, G, H/G * T, ...] for keys of G heads: consecutive heads of queries are steps of one."""
    if X.shape.rank == 3 or X.shape[1] == keys.shape[1]:
        return X
    B, H, T, width = keras.ops.shape(X)
    return tf.reshape(X, (B, keys.shape[1], H // keys.shape[1] * T, width))


def _apart(Y: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
    """[B, G, H/G * T, ...] -> [B, H, T, ...] of the queries."""
    if Y.shape.rank == 3 or Y.shape[1] == queries.shape[1]:
        return Y
    return tf.reshape(Y, (*keras.ops.shape(queries)[:3], keras.ops.shape(Y)[3]))


@keras.saving.register_keras_serializable("transformer_mb")
class DotProductAttention(Called, keras.layers.Layer):
    """Composed: TensorFlow has no fused attention, and that of Keras computes its scores in float32."""

    def __init__(self, dropout: float, *, scaled: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        self.autocast = False  # without weights, the dtype is that of the input
        self._allow_non_tensor_positional_args = True  # lists of lengths
        self.dropout = Dropout(dropout)
        self.scaled = scaled
        self.attention_weights: tf.Tensor | None = None
        self.built = True

    def _factor(self, width: int) -> float:
        """Return what the products of queries and keys are multiplied by."""
        return 1.0 / math.sqrt(width) if self.scaled else 1.0

    def call(
        self,
        queries: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        mask: tf.Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        scaled = queries * self._factor(queries.shape[-1])
        scores = _apart(products(_grouped(scaled, keys), keys, transpose_b=True), queries)
        scores = scores if bias is None else scores + bias
        weights = _softmax_where(scores, _allowed(scores, valid_lens, mask, causal))
        # A tensor of a graph must not outlive it.
        self.attention_weights = weights if need_weights and tf.executing_eagerly() else None
        return _apart(products(_grouped(self.dropout(weights, training=training), values), values), queries)

    def compute_mask(self, queries: tf.Tensor, previous_mask: tf.Tensor | None) -> tf.Tensor | None:
        """Return the mask that Keras attaches to the output: the padding of the queries, never the mask of this call."""
        return getattr(queries, "_keras_mask", None)


@keras.saving.register_keras_serializable("transformer_mb")
class MultiHeadAttention(WeightsOfHeads, Called, keras.layers.Layer):
    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **options: Unpack[HeadOptions],
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        check_sizes(key_size=key_size, query_size=query_size, value_size=value_size)
        chosen = Chosen(HeadOptions, options, dropout)
        width = check_heads(num_hiddens, num_heads, head_size=chosen.head_size)
        self._allow_non_tensor_positional_args = True  # lists of lengths
        self.num_heads, self.num_kv_heads = num_heads, check_kv_heads(num_heads, chosen.num_kv_heads)
        inner, few = width * num_heads, width * self.num_kv_heads
        self.attention = DotProductAttention(dropout, scaled=chosen.attention_scale)
        self.W_q = self._linear(query_size, inner, use_bias)
        self.W_k = self._linear(key_size, few, use_bias)
        self.W_v = self._linear(value_size, few, use_bias)
        self.W_o = self._linear(inner, num_hiddens, use_bias)
        turns = {"base": chosen.rotary_base, "layout": chosen.rotary_layout}
        rotary = chosen.position == "rotary"
        self.rotary = RotaryEncoding(width, chosen.max_len, **turns) if rotary else None
        self.built = True

    def _linear(self, inputs: int, outputs: int, use_bias: bool) -> Dense:
        dense = Dense(outputs, use_bias=use_bias, dtype=self.dtype_policy)
        dense.build((None, inputs))
        return dense

    def _turned(self, heads: tf.Tensor, offset: Any) -> tf.Tensor:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def project_keys_values(self, keys: tf.Tensor, values: tf.Tensor, offset: Any = 0) -> tuple[tf.Tensor, tf.Tensor]:
        features("keys", keys, self.W_k)
        features("values", values, self.W_v)
        keys, values = (transpose_qkv(part, self.num_kv_heads) for part in (self.W_k(keys), self.W_v(values)))
        return self._turned(keys, offset), values

    def attend(
        self,
        queries: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        offset: int | tf.Tensor = 0,
        training: bool | None = None,
        **options: Unpack[AttentionOptions],
    ) -> tf.Tensor:
        features("queries", queries, self.W_q)
        queries = self._turned(transpose_qkv(self.W_q(queries), self.num_heads), offset)
        output = self.attention(queries, keys, values, valid_lens, training=training, **options)
        return self.W_o(transpose_output(output, self.num_heads))

    def call(
        self,
        queries: tf.Tensor,
        keys: tf.Tensor,
        values: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        offset: int | tf.Tensor = 0,
        mask: tf.Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        # Options by name, because Keras refuses a tensor among others behind ``**``.
        padding = getattr(keys, "_keras_mask", None)
        if padding is not None:
            # [B, S], attached by a Keras layer such as Embedding(mask_zero=True).
            padding = padding[:, None, None]
            shape = (queries.shape[0], self.num_heads, queries.shape[1], keys.shape[1])
            mask = padding if mask is None else attention_mask(mask, shape, queries) & padding
        if len(keys.shape) == 3:  # else they come from a cache
            keys, values = self.project_keys_values(keys, values)
        options: AttentionOptions = {"mask": mask, "causal": causal, "need_weights": need_weights, "bias": bias}
        return self.attend(queries, keys, values, valid_lens, offset=offset, training=training, **options)

    def compute_mask(self, queries: tf.Tensor, previous_mask: tf.Tensor | None) -> tf.Tensor | None:
        """Return the mask that Keras attaches to the output: the padding of the queries, never the mask of this call."""
        return getattr(queries, "_keras_mask", None)
