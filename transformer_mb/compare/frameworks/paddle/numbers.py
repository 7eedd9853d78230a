"""Paddle's operations on tensors of the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import paddle


def returned(X: np.ndarray) -> np.ndarray:
    return paddle.to_tensor(X).numpy()


def from_python(values: Sequence[float]) -> np.ndarray:
    return paddle.to_tensor(values).numpy()


def arange(count: int) -> np.ndarray:
    return paddle.arange(count).numpy()


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (paddle.to_tensor(X) + paddle.to_tensor(Y)).numpy()


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return (paddle.to_tensor(X) + number).numpy()


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (paddle.to_tensor(X) / paddle.to_tensor(Y)).numpy()


def total(X: np.ndarray) -> np.ndarray:
    return paddle.sum(paddle.to_tensor(X)).numpy()


def mean(X: np.ndarray) -> np.ndarray:
    return paddle.mean(paddle.to_tensor(X)).numpy()


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    first, second = (paddle.to_tensor(array).astype(getattr(paddle, dtype)) for array in (X, Y))
    return (first @ second).astype("float32").numpy()


def follows_array(X: np.ndarray) -> bool:
    """Whether a change of the array is seen in the tensor that to_tensor made of it."""
    tensor = paddle.to_tensor(X)
    X[0] += 1
    return bool(tensor[0] == X[0])


def follows_tensor(X: np.ndarray) -> bool:
    """Whether a change of what numpy() gives is seen in the tensor."""
    tensor = paddle.to_tensor(X)
    array = tensor.numpy()
    array[0] += 1
    return bool(tensor[0] == array[0])
