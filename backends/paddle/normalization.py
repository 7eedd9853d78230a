"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import paddle
import paddle.nn.functional as F
from paddle import Tensor, nn

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm
from transformer_mb.layer_calls import Called

from .dropout import Dropout
from .given import floats


class LayerNorm(Called, nn.Layer):
    def __init__(self, norm_shape: int | Sequence[int], *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True):
        super().__init__()
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.eps = eps
        self.kind = kind
        ones = nn.initializer.Constant(1.0)
        self.weight = self.create_parameter(self.norm_shape, default_initializer=ones) if affine else None
        self.bias = self.create_parameter(self.norm_shape, is_bias=True) if affine and kind != "rms_norm" else None

    def forward(self, X: Tensor) -> Tensor:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        floats("The input of LayerNorm", X, self.weight)
        return self._fused(X) if self._has_kernel(X.dtype) else self._composed(X)

    def _has_kernel(self, dtype: paddle.dtype) -> bool:
        """The fused kernel takes epsilon as float32, which float64 would see, and none above 1e-3."""
        return self.kind == "layer_norm" and dtype != paddle.float64 and self.eps <= 1e-3

    def _composed(self, X: Tensor) -> Tensor:
        axes = list(range(-len(self.norm_shape), 0))
        X = X if self.kind == "rms_norm" else X - X.mean(axes, keepdim=True)
        squares = X.square().sum(axes, keepdim=True)
        n = math.prod(self.norm_shape)
        std_norm = self.kind == "std_norm"
        X = X / (_root(squares / (n - 1)) + self.eps if std_norm else (squares / n + self.eps).sqrt())
        X = X if self.weight is None else X * self.weight
        return X if self.bias is None else X + self.bias

    def _fused(self, X: Tensor) -> Tensor:
        weight, bias = self.weight, self.bias
        if weight is not None and len(self.norm_shape) > 1:
            weight, bias = weight.flatten(), bias.flatten()  # as the kernel takes them
        return F.layer_norm(X, self.norm_shape, weight, bias, self.eps)


def _root(X: Tensor) -> Tensor:
    """The square root, whose gradient at 0 is 0 rather than infinite."""
    positive = X > 0
    return paddle.where(positive, paddle.sqrt(paddle.where(positive, X, paddle.ones_like(X))), X)


class AddNorm(Called, nn.Layer):
    def __init__(
        self,
        norm_shape: int | Sequence[int],
        dropout: float,
        *,
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
    ):
        check_choice("norm_position", norm_position)
        super().__init__()
        self.pre = norm_position == "pre"
        self.dropout = Dropout(dropout)
        self.ln = LayerNorm(norm_shape, eps=norm_eps, kind=norm_kind, affine=norm_affine)

    def sublayer_input(self, X: Tensor) -> Tensor:
        return self.ln(X) if self.pre else X

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        check_residual(X, Y, getattr(self.ln, "norm_shape", None))
        Z = X + self.dropout(Y)
        return Z if self.pre else self.ln(Z)
