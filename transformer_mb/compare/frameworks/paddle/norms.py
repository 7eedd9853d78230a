"""Normalization over the last axis, variance and deviation in Paddle."""

from __future__ import annotations

import numpy as np
import paddle


def layer_norm(X: np.ndarray) -> np.ndarray:
    return paddle.nn.LayerNorm(X.shape[-1])(paddle.to_tensor(X)).numpy()


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    return paddle.nn.LayerNorm(X.shape[-1], dtype=X.dtype.name)(paddle.to_tensor(X)).numpy()


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    return paddle.nn.LayerNorm(number)(paddle.to_tensor(X)).numpy()


def rms_norm(X: np.ndarray) -> np.ndarray:
    x = paddle.to_tensor(X)
    output, _ = paddle.nn.functional.rms_norm(x, [X.shape[-1]], paddle.ones([X.shape[-1]], dtype=x.dtype))
    return output.numpy()


def variance(X: np.ndarray) -> float:
    return float(paddle.var(paddle.to_tensor(X)))


def deviation(X: np.ndarray) -> float:
    return float(paddle.std(paddle.to_tensor(X)))
