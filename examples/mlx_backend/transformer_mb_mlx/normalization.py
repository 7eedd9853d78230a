"""Layer normalization, and the residual connection around a sublayer."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm

from .dropout import Dropout
from .framework import Module, Parameter
from .given import floats


class LayerNorm(Module):
    def __init__(self, norm_shape: int | Sequence[int], *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True):
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.eps = eps
        self.kind = kind
        self.weight = Parameter(numpy.ones(self.norm_shape)) if affine else None
        self.bias = Parameter(numpy.zeros(self.norm_shape)) if affine and kind != "rms_norm" else None

    def forward(self, X: Any) -> Any:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        floats("The input of LayerNorm", X, self.weight and self.weight.value)
        axes, size = tuple(range(-len(self.norm_shape), 0)), prod(self.norm_shape)
        Z = X if self.kind == "rms_norm" else X - mx.mean(X, axis=axes, keepdims=True)
        squares = mx.sum(Z * Z, axis=axes, keepdims=True)
        std_norm = self.kind == "std_norm"
        Z = Z / (_root(squares / (size - 1)) + self.eps if std_norm else mx.sqrt(squares / size + self.eps))
        Z = Z if self.weight is None else Z * self.weight.value
        return Z if self.bias is None else Z + self.bias.value


def _root(squares: Any) -> Any:
    """The square root; at zero its slope is taken as zero, where a constant row has none."""
    zero = (mx.stop_gradient(squares) == 0.0).astype(squares.dtype)
    return mx.sqrt(squares + zero) * (1.0 - zero)


class AddNorm(Module):
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
        self.pre = norm_position == "pre"
        self.dropout = Dropout(dropout)
        self.ln = LayerNorm(norm_shape, eps=norm_eps, kind=norm_kind, affine=norm_affine)

    def sublayer_input(self, X: Any) -> Any:
        return self.ln(X) if self.pre else X

    def forward(self, X: Any, Y: Any) -> Any:
        check_residual(X, Y, getattr(self.ln, "norm_shape", None))
        Z = X + self.dropout(Y)
        return Z if self.pre else self.ln(Z)
