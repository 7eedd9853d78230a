"""Linear layers, and tables one of whose rows learns nothing."""

from __future__ import annotations

import math

import paddle
from paddle import Tensor, nn


class Linear(nn.Linear):
    """nn.Linear whose bias gets its gradient by a matrix product, which takes a twentieth of Paddle's sum over many rows."""

    def forward(self, X: Tensor) -> Tensor:
        rows = math.prod(X.shape[:-1]) if self.bias is not None and paddle.in_dynamic_mode() else 0
        if rows * self.weight.shape[1] < 2**16 or not paddle.is_grad_enabled():
            return super().forward(X)
        ones = paddle.ones([rows, 1], self.bias.dtype)
        return paddle.matmul(X, self.weight) + paddle.matmul(ones, self.bias.unsqueeze(0)).reshape([*X.shape[:-1], -1])


class TiedLinear(nn.Layer):
    """A projection by an embedding table [V, D], which nn.Linear would want as [D, V]."""

    def __init__(self, weight: Tensor, bias: Tensor | None, padding_id: int | None):
        super().__init__()
        self.weight = weight
        self.bias = bias
        self.padding_id = padding_id

    def forward(self, X: Tensor) -> Tensor:
        Y = paddle.matmul(X, without_row(self.weight, self.padding_id), transpose_y=True)
        return Y if self.bias is None else Y + self.bias


def without_row(table: Tensor, row: int | None) -> Tensor:
    """The table, one of whose rows gets no gradient.

    nn.Embedding's padding_idx would also give zeros for a pad row that holds others, and knows no projection; a hook on the
    gradient is refused in a static graph.
    """
    if row is None or not paddle.is_grad_enabled() or table.stop_gradient:
        return table
    copy = table.clone()
    copy[row] = table[row].detach()
    return copy
