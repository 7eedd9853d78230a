"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import mxnet as mx
import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm

from .dropout import Dropout
from .given import floats
from .shim import Block


def _trained(X: mnp.ndarray, gamma: mnp.ndarray, beta: mnp.ndarray, eps: float) -> mnp.ndarray:
    """Layer normalisation as a batch normalisation whose channels are the positions: on a CPU the backward of the fused
    operator takes five times as long (measured, 1,024 positions of 512)."""
    D = X.shape[-1]
    rows = X.size // D
    column, zeros, moving = _of_positions(rows, X.ctx)
    scale = column.reshape(rows)  # fix_gamma would write the gradient of a scale to where none is wanted
    Y = npx.batch_norm(X.reshape(1, rows, D), scale, zeros, *moving, eps=eps, momentum=1.0, fix_gamma=False, axis=1)
    # Rows of gamma and beta by matrix products, whose backward is not MXNet's slow one of a sum.
    gamma, beta = (npx.fully_connected(column, array.reshape(D, 1), num_hidden=D, no_bias=True) for array in (gamma, beta))
    return (Y.reshape(rows, D) * gamma + beta).reshape(X.shape)


@lru_cache(maxsize=16)
def _of_positions(rows: int, context: mx.Context) -> tuple[mnp.ndarray, mnp.ndarray, tuple[mnp.ndarray, mnp.ndarray]]:
    """Return ones as a column, zeros, and what a batch normalisation keeps of all batches."""
    with autograd.pause():
        ones, zeros, *moving = (mnp.full(rows, value, dtype="float32", ctx=context) for value in (1.0, 0.0, 0.0, 1.0))
        return ones.reshape(rows, 1), zeros, tuple(moving)


class LayerNorm(Block):
    def __init__(self, norm_shape: int | Sequence[int], *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True):
        super().__init__()
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.eps = eps
        self.kind = kind
        self.gamma = self.params.get("gamma", shape=self.norm_shape, init="ones") if affine else None
        shifted = affine and kind != "rms_norm"
        self.beta = self.params.get("beta", shape=self.norm_shape, init="zeros") if shifted else None

    def __repr__(self) -> str:
        return f"LayerNorm({self.norm_shape}, eps={self.eps}, kind={self.kind})"

    def forward(self, X: mnp.ndarray) -> mnp.ndarray:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        floats("The input of LayerNorm", X, self.gamma)
        # The fused operator takes one axis, and epsilon as float32, which float64 parity would see.
        if self.gamma is not None and self.kind == "layer_norm" and len(self.norm_shape) == 1 and X.dtype == np.float32:
            gamma, beta = self.gamma.data(), self.beta.data()
            if autograd.is_recording() and autograd.is_training() and X.ctx.device_type == "cpu":
                return _trained(X, gamma, beta, self.eps)
            return npx.layer_norm(X, gamma, beta, eps=self.eps)
        X = self._standardize(X)
        X = X if self.gamma is None else X * self.gamma.data()
        return X if self.beta is None else X + self.beta.data()

    def _standardize(self, X: mnp.ndarray) -> mnp.ndarray:
        axes = tuple(range(-len(self.norm_shape), 0))
        X = X if self.kind == "rms_norm" else X - X.mean(axis=axes, keepdims=True)
        if self.kind != "std_norm":
            return X / mnp.sqrt(mnp.square(X).mean(axis=axes, keepdims=True) + self.eps)
        # The backward of mnp.std is silently zero; and that of a root at 0 is infinite, where the deviation's is 0.
        variance = mnp.square(X).sum(axis=axes, keepdims=True) / (np.prod(self.norm_shape) - 1)
        positive = npx.cast(variance > 0, dtype=X.dtype)
        return X / (mnp.sqrt(variance + (1.0 - positive)) * positive + self.eps)


class AddNorm(Block):
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

    def sublayer_input(self, X: mnp.ndarray) -> mnp.ndarray:
        return self.ln(X) if self.pre else X

    def forward(self, X: mnp.ndarray, Y: mnp.ndarray) -> mnp.ndarray:
        check_residual(X, Y, getattr(self.ln, "norm_shape", None))
        Z = X + self.dropout(Y)
        return Z if self.pre else self.ln(Z)
