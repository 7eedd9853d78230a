"""The position-wise feed-forward network."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx

from transformer_mb.config import check_choice, check_sizes

from .dropout import Dropout
from .framework import Linear, Module, filled
from .given import features


def _relu(X: Any) -> Any:
    return filled(X, mx.stop_gradient(X) > 0.0, 0.0)


def _gelu(X: Any) -> Any:
    return 0.5 * X * (1.0 + mx.erf(X * math.sqrt(0.5)))


def _gelu_tanh(X: Any) -> Any:
    return 0.5 * X * (1.0 + mx.tanh(math.sqrt(2.0 / math.pi) * (X + 0.044715 * X * X * X)))


def _silu(X: Any) -> Any:
    """x times the logistic function, which is a tanh: nothing overflows."""
    return X * (0.5 * (1.0 + mx.tanh(0.5 * X)))


ACTIVATIONS = {"relu": _relu, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "silu": _silu}


class PositionWiseFFN(Module):
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
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.dense2 = Linear(ffn_num_hiddens, ffn_num_outputs, bias=use_bias)
        self.dense3 = Linear(ffn_num_input, ffn_num_hiddens, bias=use_bias) if gated else None

    def forward(self, X: Any) -> Any:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden = self.activation(self.dense1(X))
        return self.dense2(self.dropout(hidden if self.dense3 is None else hidden * self.dense3(X)))
