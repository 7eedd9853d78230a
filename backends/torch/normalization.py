"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm
from transformer_mb.layer_calls import Called

from .dropout import Dropout
from .given import floats

HALF = (torch.bfloat16, torch.float16)


class LayerNorm(Called, nn.Module):
    def __init__(self, norm_shape: int | Sequence[int], *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True):
        super().__init__()
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.eps = eps
        self.kind = kind
        self.weight = nn.Parameter(torch.ones(self.norm_shape)) if affine else None
        self.bias = nn.Parameter(torch.zeros(self.norm_shape)) if affine and kind != "rms_norm" else None

    def forward(self, X: Tensor) -> Tensor:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        # torch normalizes half precision with weights of float32, too.
        floats("The input of LayerNorm", X, None if X.dtype in HALF else self.weight)
        if self.kind == "layer_norm" and self.weight is not None and _sums_in_format(X):
            Z = F.layer_norm(X.float(), self.norm_shape, self.weight.float(), self.bias.float(), self.eps)
            return Z.to(X.dtype)
        if self.kind == "layer_norm":
            return F.layer_norm(X, self.norm_shape, self.weight, self.bias, self.eps)
        if self.kind == "rms_norm":
            return F.rms_norm(X, self.norm_shape, self.weight, self.eps)
        axes = tuple(range(-len(self.norm_shape), 0))
        # Statistics in at least float32, as torch's own norms have them.
        Z = X.to(torch.promote_types(X.dtype, torch.float32))
        deviation, mean = torch.std_mean(Z, dim=axes, correction=1, keepdim=True)
        X = ((Z - mean) / (deviation + self.eps)).to(X.dtype)
        return X if self.weight is None else X * self.weight + self.bias


def _sums_in_format(X: Tensor) -> bool:
    """Tell whether torch's kernel would sum the gradients of weight and bias over all rows in two bytes: on a CPU it does."""
    return X.dtype in HALF and X.device.type == "cpu" and torch.is_grad_enabled()


class AddNorm(Called, nn.Module):
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
