"""The position-wise feed-forward network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transformer_mb.config import check_choice, check_sizes

from .activations import Activation
from .dropout import Dropout
from .framework import Layer, Linear
from .given import features


class PositionWiseFFN(Layer):
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
    ):
        check_choice("activation", activation)
        check_sizes(ffn_num_input=ffn_num_input, ffn_num_hiddens=ffn_num_hiddens, ffn_num_outputs=ffn_num_outputs)
        self.dense1 = Linear(ffn_num_input, ffn_num_hiddens, bias=use_bias)
        self.activation = Activation(activation)
        self.dropout = Dropout(dropout)
        self.dense2 = Linear(ffn_num_hiddens, ffn_num_outputs, bias=use_bias)
        self.dense3 = Linear(ffn_num_input, ffn_num_hiddens, bias=use_bias) if gated else None

    def forward(self, X: np.ndarray) -> np.ndarray:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden = self.activation(self.dense1(X))
        if self.dense3 is not None:
            factor = self.dense3(X)
            self.remember(hidden, factor)
            hidden = hidden * factor
        return self.dense2(self.dropout(hidden))

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        gradient = self.dropout.backward(self.dense2.backward(gradient))
        if self.dense3 is None:
            return self.dense1.backward(self.activation.backward(gradient))
        hidden, factor = self.recall()
        dX = self.dense3.backward(gradient * hidden)
        dX += self.dense1.backward(self.activation.backward(gradient * factor))
        return dX

    def _inner(self, product: Callable[[Linear], Callable[[np.ndarray], np.ndarray]]) -> Callable[[np.ndarray], np.ndarray]:
        """Return what computes the factor of dense2 in evaluation, by the products that a shortcut makes of layers."""
        first, activation = product(self.dense1), self.activation.value
        if self.dense3 is None:
            return lambda X: activation(first(X))[0]
        third = product(self.dense3)
        return lambda X: activation(first(X))[0] * third(X)
