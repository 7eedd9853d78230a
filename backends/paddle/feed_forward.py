"""The position-wise feed-forward network."""

from __future__ import annotations

import math
from collections.abc import Callable

import paddle.nn.functional as F
from paddle import Tensor, nn

from transformer_mb.config import check_choice, check_sizes
from transformer_mb.layer_calls import Called

from .dropout import Dropout
from .given import features
from .linear import Linear


def _gelu_tanh(X: Tensor) -> Tensor:
    """Paddle's own has in float32 a gradient that is eight times as far off."""
    return X * F.sigmoid((X + X * X * X * 0.044715) * (2.0 * math.sqrt(2.0 / math.pi)))


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": F.swish,  # the gradient of F.silu is NaN below -88 in float32
}


class PositionWiseFFN(Called, nn.Layer):
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
        self.dense1 = Linear(ffn_num_input, ffn_num_hiddens, bias_attr=use_bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.dense2 = Linear(ffn_num_hiddens, ffn_num_outputs, bias_attr=use_bias)
        self.dense3 = Linear(ffn_num_input, ffn_num_hiddens, bias_attr=use_bias) if gated else None

    def forward(self, X: Tensor) -> Tensor:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden = self.activation(self.dense1(X))
        return self.dense2(self.dropout(hidden if self.dense3 is None else hidden * self.dense3(X)))

    def _inner(self, product: Callable[[nn.Layer], Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
        """Return what computes the factor of dense2 in evaluation, by the products that a shortcut makes of layers."""
        first, activation = product(self.dense1), self.activation
        if self.dense3 is None:
            return lambda X: activation(first(X))
        third = product(self.dense3)
        return lambda X: activation(first(X)) * third(X)
