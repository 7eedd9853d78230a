"""Layer normalisation, and the residual connection around a sublayer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.checks import check_residual, check_trailing
from transformer_mb.config import check_choice, check_norm
from transformer_mb.layer_calls import Called

from .dropout import Dropout
from .given import floats
from .linear import spread


class LayerNorm(Called, nnx.Module):
    """A norm from primitives: nnx.LayerNorm normalises one axis, and its fast variance loses half the digits."""

    def __init__(
        self,
        norm_shape: int | Sequence[int],
        *,
        eps: float = 1e-5,
        kind: str = "layer_norm",
        affine: bool = True,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,  # nothing here is random, but every nnx layer takes it
    ):
        self.norm_shape = check_norm(norm_shape, eps, kind)
        self.eps = eps
        self.kind = kind
        self.scale = nnx.Param(jnp.ones(self.norm_shape, param_dtype)) if affine else None
        self.bias = nnx.Param(jnp.zeros(self.norm_shape, param_dtype)) if affine and kind != "rms_norm" else None

    def __call__(self, X: Array) -> Array:
        check_trailing("The input of LayerNorm", X, self.norm_shape)
        floats("The input of LayerNorm", X, self.scale)
        axes = tuple(range(-len(self.norm_shape), 0))
        # Statistics in at least float32, as the fused kernels of other frameworks have them.
        Z = X.astype(jnp.promote_types(X.dtype, jnp.float32))
        Z = Z if self.kind == "rms_norm" else Z - Z.mean(axes, keepdims=True)
        if self.kind == "std_norm":
            Z = Z / (_deviation(Z, axes) + self.eps)
        else:
            Z = Z / jnp.sqrt(jnp.square(Z).mean(axes, keepdims=True) + self.eps)
        Z = Z.astype(X.dtype)
        Z = Z if self.scale is None else Z * spread(self.scale[...], Z)
        return Z if self.bias is None else Z + spread(self.bias[...], Z)


def _deviation(Z: Array, axes: tuple[int, ...]) -> Array:
    """The unbiased standard deviation of what has mean 0; its gradient at 0 is 0, where the root's is infinite."""
    count = Z[(0,) * (Z.ndim - len(axes))].size
    variance = jnp.square(Z).sum(axes, keepdims=True) / (count - 1)
    some = variance > 0.0
    return jnp.where(some, jnp.sqrt(jnp.where(some, variance, 1.0)), 0.0)


class AddNorm(Called, nnx.Module):
    def __init__(
        self,
        norm_shape: int | Sequence[int],
        dropout: float,
        *,
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
    ):
        check_choice("norm_position", norm_position)
        self.pre = norm_position == "pre"
        self.dropout = Dropout(dropout, rngs=rngs)
        self.ln = LayerNorm(norm_shape, eps=norm_eps, kind=norm_kind, affine=norm_affine, param_dtype=param_dtype, rngs=rngs)

    def sublayer_input(self, X: Array) -> Array:
        return self.ln(X) if self.pre else X

    def __call__(self, X: Array, Y: Array) -> Array:
        check_residual(X, Y, getattr(self.ln, "norm_shape", None))
        Z = X + self.dropout(Y)
        return Z if self.pre else self.ln(Z)
