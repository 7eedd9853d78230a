"""The position-wise feed-forward network."""

from __future__ import annotations

import math

from mxnet import autograd, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.config import check_choice, check_sizes

from .dropout import Dropout
from .given import features
from .shim import Block


def _gelu(X: mnp.ndarray) -> mnp.ndarray:
    """X Φ(X). MXNet's own GELU is 4e-8 off, and so is 8e-9 the gradient of its erf: the exact derivative instead,
    times a term that is 0 and has gradient 1."""
    recording = autograd.is_recording()
    with autograd.pause():
        cumulative = (npx.erf(X * math.sqrt(0.5)) + 1.0) * 0.5
        Y = X * cumulative
        if not recording:
            return Y
        density = mnp.exp(mnp.square(X) * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
        slope = cumulative + X * density
        origin = X * 1.0
    return Y + slope * (X - origin)


def _gelu_tanh(X: mnp.ndarray) -> mnp.ndarray:
    inner = (X + X * X * X * 0.044715) * math.sqrt(2.0 / math.pi)
    return X * (mnp.tanh(inner) + 1.0) * 0.5


def _silu(X: mnp.ndarray) -> mnp.ndarray:
    return X * npx.sigmoid(X)


ACTIVATIONS = {"relu": npx.relu, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "silu": _silu}


class PositionWiseFFN(Block):
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
        super().__init__()
        self.dense1 = nn.Dense(ffn_num_hiddens, in_units=ffn_num_input, use_bias=use_bias, flatten=False)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.dense2 = nn.Dense(ffn_num_outputs, in_units=ffn_num_hiddens, use_bias=use_bias, flatten=False)
        self.dense3 = nn.Dense(ffn_num_hiddens, in_units=ffn_num_input, use_bias=use_bias, flatten=False) if gated else None

    def forward(self, X: mnp.ndarray) -> mnp.ndarray:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden = self.activation(self.dense1(X))
        return self.dense2(self.dropout(hidden if self.dense3 is None else hidden * self.dense3(X)))
