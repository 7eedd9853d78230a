"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm
from transformer_mb.layer_calls import Called

from .dense import TWO_BYTES
from .dropout import Dropout
from .given import floats


@keras.saving.register_keras_serializable("transformer_mb")
class LayerNorm(Called, keras.layers.Layer):
    """Composed, because keras.layers.LayerNormalization counts axes and knows no ``std_norm``."""

    _every_call = ("training",)

    def __init__(
        self,
        norm_shape: int | Sequence[int],
        *,
        eps: float = 1e-5,
        kind: str = "layer_norm",
        affine: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.eps = eps
        self.kind = kind
        self.weight = self.add_weight(shape=self.norm_shape, initializer="ones", name="weight") if affine else None
        shifted = affine and kind != "rms_norm"
        self.bias = self.add_weight(shape=self.norm_shape, initializer="zeros", name="bias") if shifted else None
        self.built = True

    def __repr__(self) -> str:
        return f"<LayerNorm {self.norm_shape}, eps={self.eps}, kind={self.kind}, name={self.name}, built={self.built}>"

    def call(self, X: tf.Tensor) -> tf.Tensor:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        floats("The input of LayerNorm", X, self.weight)
        axes = tuple(range(-len(self.norm_shape), 0))
        dtype = X.dtype
        # In float32: squares of half precision would overflow.
        X = tf.cast(X, tf.float32) if dtype in TWO_BYTES else X
        if self.kind != "std_norm":
            X = _normalized(X, axes, self.eps, centered=self.kind == "layer_norm")
        else:
            X = X - tf.reduce_mean(X, axes, keepdims=True)
            variance = tf.reduce_sum(tf.square(X), axes, keepdims=True) / (math.prod(self.norm_shape) - 1)
            # The root of 0 has no derivative: rows that are constant take none through it.
            varied = variance > 0.0
            X = X / (tf.where(varied, tf.sqrt(tf.where(varied, variance, 1.0)), 0.0) + self.eps)
        # So are the gradients of weight and bias, sums over all rows.
        X = X if self.weight is None else X * tf.cast(self.weight, X.dtype)
        X = X if self.bias is None else X + tf.cast(self.bias, X.dtype)
        return tf.cast(X, dtype)


def _normalized(X: tf.Tensor, axes: tuple[int, ...], eps: float, centered: bool) -> tf.Tensor:
    """X by the root of its mean square, with a gradient of seven operations, where those of each of its steps are thirty."""

    @tf.custom_gradient
    def normalized(X: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        X = X - tf.reduce_mean(X, axes, keepdims=True) if centered else X
        inverse = tf.math.rsqrt(tf.reduce_mean(tf.square(X), axes, keepdims=True) + eps)
        Y = X * inverse

        def gradient(change: tf.Tensor) -> tf.Tensor:
            along = Y * tf.reduce_mean(change * Y, axes, keepdims=True)
            change = change - tf.reduce_mean(change, axes, keepdims=True) if centered else change
            return (change - along) * inverse

        return Y, gradient

    return normalized(X)


@keras.saving.register_keras_serializable("transformer_mb")
class AddNorm(Called, keras.layers.Layer):
    def __init__(
        self,
        norm_shape: int | Sequence[int],
        dropout: float,
        *,
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        **kwargs: Any,
    ):
        check_choice("norm_position", norm_position)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.pre = norm_position == "pre"
        self.dropout = Dropout(dropout)
        self.ln = LayerNorm(norm_shape, eps=norm_eps, kind=norm_kind, affine=norm_affine, dtype=self.dtype_policy)
        self.built = True

    def sublayer_input(self, X: tf.Tensor) -> tf.Tensor:
        return self.ln(X) if self.pre else X

    def call(self, X: tf.Tensor, Y: tf.Tensor, *, training: bool | None = None) -> tf.Tensor:
        check_residual(X, Y, getattr(self.ln, "norm_shape", None))
        Z = X + self.dropout(Y, training=training)
        return Z if self.pre else self.ln(Z)
