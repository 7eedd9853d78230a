"""The position-wise feed-forward network."""

from __future__ import annotations

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
    ):
        check_choice("activation", activation)
        check_sizes(ffn_num_input=ffn_num_input, ffn_num_hiddens=ffn_num_hiddens, ffn_num_outputs=ffn_num_outputs)
        self.dense1 = Linear(ffn_num_input, ffn_num_hiddens, bias=use_bias)
        self.activation = Activation(activation)
        self.dropout = Dropout(dropout)
        self.dense2 = Linear(ffn_num_hiddens, ffn_num_outputs, bias=use_bias)

    def forward(self, X: np.ndarray) -> np.ndarray:
        features("The input of PositionWiseFFN", X, self.dense1)
        return self.dense2(self.dropout(self.activation(self.dense1(X))))

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        gradient = self.dropout.backward(self.dense2.backward(gradient))
        return self.dense1.backward(self.activation.backward(gradient))
