"""Normalization over the last axis in flax nnx; variance and deviation in jax.numpy."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from flax import nnx

from .float64 import enable_x64


def layer_norm(X: np.ndarray) -> np.ndarray:
    return np.asarray(nnx.LayerNorm(X.shape[-1], rngs=nnx.Rngs(0))(X))


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    with enable_x64(X.dtype == np.float64):
        return np.asarray(nnx.LayerNorm(X.shape[-1], param_dtype=X.dtype, rngs=nnx.Rngs(0))(X))


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    return np.asarray(nnx.LayerNorm(number, rngs=nnx.Rngs(0))(X))


def rms_norm(X: np.ndarray) -> np.ndarray:
    return np.asarray(nnx.RMSNorm(X.shape[-1], param_dtype=X.dtype, rngs=nnx.Rngs(0))(X))


def variance(X: np.ndarray) -> float:
    return float(jnp.var(X))


def deviation(X: np.ndarray) -> float:
    return float(jnp.std(X))
