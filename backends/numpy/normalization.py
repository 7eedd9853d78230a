"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm

from .dropout import Dropout
from .framework import Layer, Parameter, column_sums, row_sums
from .given import floats


class LayerNorm(Layer):
    def __init__(self, norm_shape: int | Sequence[int], *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True):
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.size = prod(self.norm_shape)
        self.eps = eps
        self.kind = kind
        self.weight = Parameter(np.ones(self.norm_shape, np.float32)) if affine else None
        self.bias = Parameter(np.zeros(self.norm_shape, np.float32)) if affine and kind != "rms_norm" else None

    def forward(self, X: np.ndarray) -> np.ndarray:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        floats("The input of LayerNorm", X, self.weight and self.weight.value)
        rows = X.reshape(-1, self.size)
        Z = rows.copy() if self.kind == "rms_norm" else rows - row_sums(rows) / self.size
        squares = np.einsum("nd,nd->n", Z, Z)[:, None]
        if self.kind == "std_norm":
            deviation = np.sqrt(squares / (self.size - 1))
            scale = 1.0 / (deviation + self.eps)
            share: np.ndarray | float = _std_norm_share(deviation, self.eps, self.size)
        else:
            scale = 1.0 / np.sqrt(squares / self.size + self.eps)
            share = 1.0 / self.size
        Z *= scale
        self.remember(Z, scale, share)
        if self.weight is not None:
            Z = Z * self.weight.value.reshape(-1)
        if self.bias is not None:
            Z += self.bias.value.reshape(-1)
        return Z.reshape(X.shape)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        """Return for rows Z = scale (X - mean): dX = scale (G - mean(G) - share sum(G Z) Z); ``rms_norm`` knows no mean."""
        Z, scale, share = self.recall()
        G = gradient.reshape(Z.shape)
        if self.weight is not None:
            self.weight.accumulate(np.einsum("nd,nd->d", G, Z).reshape(self.norm_shape))
            if self.bias is not None:
                self.bias.accumulate(column_sums(G).reshape(self.norm_shape))
            G = G * self.weight.value.reshape(-1)
        along = np.einsum("nd,nd->n", G, Z)[:, None]
        along *= share
        result = Z * along
        if self.kind != "rms_norm":
            result += row_sums(G) / self.size
        np.subtract(G, result, out=result)
        result *= scale
        return result.reshape(gradient.shape)


def _std_norm_share(deviation: np.ndarray, eps: float, size: int) -> np.ndarray:
    """Return how the deviation's own slope enters: (s + eps) / (s (size - 1)); a constant row's meets zeros alone."""
    return (deviation + eps) / (np.where(deviation == 0.0, 1.0, deviation) * (size - 1))


class AddNorm(Layer):
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

    def sublayer_input(self, X: np.ndarray) -> np.ndarray:
        return self.ln(X) if self.pre else X

    def forward(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        check_residual(X, Y, getattr(self.ln, "norm_shape", None))
        Z = self.dropout(Y)
        Z = X + Y if Z is Y else np.add(X, Z, out=Z)
        return Z if self.pre else self.ln(Z)

    def backward(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dZ = gradient if self.pre else self.ln.backward(gradient)
        return dZ, self.dropout.backward(dZ)

    def join(self, residual: np.ndarray, sublayer: np.ndarray) -> np.ndarray:
        """The gradient of X, from that of the residual path and that of what ``sublayer_input`` gave."""
        return residual + (self.ln.backward(sublayer) if self.pre else sublayer)
