"""Batch normalization in flax nnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from flax import nnx


def batch_norm(X: np.ndarray) -> np.ndarray:
    layer = nnx.BatchNorm(X.shape[-1], rngs=nnx.Rngs(0))
    layer.train()
    return np.asarray(layer(X))


def batch_norm_called(X: np.ndarray) -> np.ndarray:
    return np.asarray(nnx.BatchNorm(X.shape[-1], rngs=nnx.Rngs(0))(X))


def batch_norm_state(X: np.ndarray, **momentum: Any) -> tuple[Any, Any]:
    layer = nnx.BatchNorm(X.shape[-1], **momentum, rngs=nnx.Rngs(0))
    layer.train()
    layer(X)
    return np.asarray(layer.mean.value), np.asarray(layer.var.value)


def batch_norm_forward(X: np.ndarray) -> Any:
    return batch_norm_state(X)[0]
