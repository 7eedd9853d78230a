"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mxnet import np as mnp
from mxnet import npx

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm

from .dropout import Dropout
from .given import floats
from .shim import Block


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
            return npx.layer_norm(X, self.gamma.data(), self.beta.data(), eps=self.eps)
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
        check_residual(X, Y, self.ln.norm_shape)
        Z = X + self.dropout(Y)
        return Z if self.pre else self.ln(Z)
