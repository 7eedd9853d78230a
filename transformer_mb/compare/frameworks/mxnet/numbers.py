"""mxnet.np."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mxnet import np as mnp

from transformer_mb.compare.facts import Absent


def returned(X: np.ndarray) -> np.ndarray:
    return mnp.array(X).asnumpy()


def from_python(values: Sequence[float]) -> np.ndarray:
    return mnp.array(values).asnumpy()


def arange(count: int) -> np.ndarray:
    return mnp.arange(count).asnumpy()


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (mnp.array(X) + mnp.array(Y)).asnumpy()


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return (mnp.array(X) + number).asnumpy()


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (mnp.array(X) / mnp.array(Y)).asnumpy()


def total(X: np.ndarray) -> np.ndarray:
    return mnp.sum(mnp.array(X)).asnumpy()


def mean(X: np.ndarray) -> np.ndarray:
    return mnp.mean(mnp.array(X)).asnumpy()


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    if dtype == "bfloat16":
        raise Absent("MXNet 1.9.1 has no bfloat16 that an array could be cast to by name.")
    first, second = (mnp.array(array).astype(dtype) for array in (X, Y))
    return mnp.dot(first, second).astype("float32").asnumpy()


def follows_array(X: np.ndarray) -> bool:
    """Whether a change of the array is seen in the tensor that mxnet.np.array made of it."""
    tensor = mnp.array(X)
    X[0] += 1
    return bool(tensor[0] == X[0])


def follows_tensor(X: np.ndarray) -> bool:
    """Whether a change of what asnumpy() gives is seen in the tensor."""
    tensor = mnp.array(X)
    array = tensor.asnumpy()
    array[0] += 1
    return bool(tensor[0] == array[0])
