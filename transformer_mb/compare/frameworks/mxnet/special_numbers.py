"""mxnet.np and mxnet.npx on NaN, subnormal numbers, halves and what does not fit."""

from __future__ import annotations

import numpy as np
from mxnet import np as mnp

ABSENT = {"floor_divide": "MXNet 1.9.1 has no floor division."}


def multiply(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (mnp.array(X) * mnp.array(Y)).asnumpy()


def argmax(X: np.ndarray) -> np.ndarray:
    return mnp.argmax(mnp.array(X)).asnumpy()


def whole(X: np.ndarray) -> np.ndarray:
    return mnp.around(mnp.array(X)).asnumpy()


def cast(X: np.ndarray, dtype: str) -> np.ndarray:
    return mnp.array(X).astype(dtype).asnumpy()
