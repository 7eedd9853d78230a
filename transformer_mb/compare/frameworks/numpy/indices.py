"""numpy.take, indexing with an array, argmax, max and argsort."""

from __future__ import annotations

import numpy as np

ABSENT = {
    "top_k": "NumPy has no top-k; argpartition gives the k largest in no order.",
    "one_hot": "NumPy has no one-hot.",
}


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return np.take(X, ids, axis=0)


def index(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return X[ids]


def argmax(X: np.ndarray) -> np.ndarray:
    return np.argmax(X, axis=-1)


def maximum(X: np.ndarray) -> np.ndarray:
    return np.max(X, axis=-1)


def argsort(X: np.ndarray) -> np.ndarray:
    return np.argsort(X)
