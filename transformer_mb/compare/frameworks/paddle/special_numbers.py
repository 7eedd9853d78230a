"""Paddle's operations on NaN, subnormal numbers, halves and what does not fit."""

from __future__ import annotations

import numpy as np
import paddle


def multiply(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (paddle.to_tensor(X) * paddle.to_tensor(Y)).numpy()


def floor_divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (paddle.to_tensor(X) // paddle.to_tensor(Y)).numpy()


def argmax(X: np.ndarray) -> np.ndarray:
    return paddle.argmax(paddle.to_tensor(X)).numpy()


def whole(X: np.ndarray) -> np.ndarray:
    return paddle.round(paddle.to_tensor(X)).numpy()


def cast(X: np.ndarray, dtype: str) -> np.ndarray:
    return paddle.to_tensor(X).astype(getattr(paddle, dtype)).numpy()
