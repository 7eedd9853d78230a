"""The position-wise feed-forward network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from transformer_mb.config import check_choice, check_sizes
from transformer_mb.layer_calls import Called

from .dense import Dense
from .dropout import Dropout
from .given import features


def _gelu(X: tf.Tensor) -> tf.Tensor:
    """GELU from erf itself: tf.nn.gelu rounds its constant to float32, 5e-9 off in float64."""
    return 0.5 * X * (1.0 + tf.math.erf(X * math.sqrt(0.5)))


def _gelu_tanh(X: tf.Tensor) -> tf.Tensor:
    """GELU with sigmoid(2u) for (1 + tanh u) / 2, but in 16-bit formats, where sigmoid's slope errs up to three times as much.

    tf.tanh of float32 errs by up to 5 units in the last place, which 1 - tanh^2 in the gradient makes much of.
    """
    if X.dtype.size == 2:
        return tf.nn.gelu(X, approximate=True)
    return X * tf.sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (X + 0.044715 * X * X * X))


ACTIVATIONS = {"relu": tf.nn.relu, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "silu": tf.nn.silu}


@keras.saving.register_keras_serializable("transformer_mb")
class PositionWiseFFN(Called, keras.layers.Layer):
    def __init__(
        self,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        ffn_num_outputs: int,
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        use_bias: bool = True,
        gated: bool = False,
        **kwargs: Any,
    ):
        check_choice("activation", activation)
        check_sizes(ffn_num_input=ffn_num_input, ffn_num_hiddens=ffn_num_hiddens, ffn_num_outputs=ffn_num_outputs)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.ffn_num_input = ffn_num_input
        self.dense1 = Dense(ffn_num_hiddens, use_bias=use_bias, dtype=self.dtype_policy)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.dense2 = Dense(ffn_num_outputs, use_bias=use_bias, dtype=self.dtype_policy)
        self.dense3 = Dense(ffn_num_hiddens, use_bias=use_bias, dtype=self.dtype_policy) if gated else None
        self.dense1.build((None, ffn_num_input))
        self.dense2.build((None, ffn_num_hiddens))
        if self.dense3 is not None:
            self.dense3.build((None, ffn_num_input))
        self.built = True

    def call(self, X: tf.Tensor, *, training: bool | None = None) -> tf.Tensor:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden = self.activation(self.dense1(X))
        if self.dense3 is not None:
            hidden = hidden * self.dense3(X)
        return self.dense2(self.dropout(hidden, training=training))

    def _inner(self, product: Callable[[Dense], Callable[[tf.Tensor], tf.Tensor]]) -> Callable[[tf.Tensor], tf.Tensor]:
        """Return what computes the factor of dense2 in evaluation, by the products that a shortcut makes of layers."""
        first, activation = product(self.dense1), self.activation
        if self.dense3 is None:
            return lambda X: activation(first(X))
        third = product(self.dense3)
        return lambda X: activation(first(X)) * third(X)
