"""mxnet.np's take, indexing, argmax, max and argsort, npx.topk and npx.one_hot."""

from __future__ import annotations

import numpy as np
from mxnet import np as mnp
from mxnet import npx


def _array(X: np.ndarray) -> mnp.ndarray:
    return mnp.array(X, dtype=X.dtype)


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return mnp.take(_array(X), _array(ids), axis=0).asnumpy()


def index(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return _array(X)[_array(ids)].asnumpy()


def argmax(X: np.ndarray) -> np.ndarray:
    return mnp.argmax(_array(X), axis=-1).asnumpy()


def maximum(X: np.ndarray) -> np.ndarray:
    return mnp.max(_array(X), axis=-1).asnumpy()


def top_k(X: np.ndarray, k: int) -> np.ndarray:
    return npx.topk(_array(X), k=k).asnumpy().astype(np.int64)


def argsort(X: np.ndarray) -> np.ndarray:
    return mnp.argsort(_array(X)).asnumpy()


def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    return npx.one_hot(_array(ids), classes).asnumpy()
