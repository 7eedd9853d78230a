"""The position-wise feed-forward network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_mb.config import check_choice, check_sizes
from transformer_mb.layer_calls import Called

from .dropout import Dropout
from .given import features
from .shortcuts import is_watched

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class PositionWiseFFN(Called, nn.Module):
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
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens, bias=use_bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout)
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs, bias=use_bias)
        self.dense3 = nn.Linear(ffn_num_input, ffn_num_hiddens, bias=use_bias) if gated else None

    def forward(self, X: Tensor) -> Tensor:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden, factor = self.dense1(X), None if self.dense3 is None else self.dense3(X)
        if torch.compiler.is_compiling() and self._joins_positions():
            # The activation's result is then what the second product multiplies, not a view of it, and a compiled step keeps
            # no mask beside it: the book's takes an eighth less time.
            hidden = self.activation(hidden.flatten(0, 1))
            return self.dense2(hidden if factor is None else hidden * factor.flatten(0, 1)).unflatten(0, X.shape[:2])
        if factor is None:
            return self.dense2(self.dropout(self.activation(hidden)))
        return self.dense2(self.dropout(self.activation(hidden) * factor))

    def _joins_positions(self) -> bool:
        """Tell whether nothing between the two products could tell [B, T, F] from [B * T, F]."""
        own = type(self.dropout) is Dropout and type(self.dense2) is nn.Linear and self.dropout.p == 0.0
        return own and not is_watched(self.dropout) and not is_watched(self.dense2)

    def _inner(self, product: Callable[[nn.Linear], Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
        """Return what computes the factor of dense2 in evaluation, by the products that a shortcut makes of layers."""
        first, activation = product(self.dense1), self.activation
        if self.dense3 is None:
            return lambda X: activation(first(X))
        third = product(self.dense3)
        return lambda X: activation(first(X)) * third(X)
