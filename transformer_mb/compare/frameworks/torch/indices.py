"""torch.index_select, indexing with a tensor, argmax, amax, topk, argsort and one_hot."""

from __future__ import annotations

import numpy as np
from torch.nn import functional as F

from .device import from_numpy, to_numpy


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X).index_select(0, from_numpy(ids)))


def index(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X)[from_numpy(ids)])


def argmax(X: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X).argmax(-1))


def maximum(X: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X).amax(-1))


def top_k(X: np.ndarray, k: int) -> np.ndarray:
    return to_numpy(from_numpy(X).topk(k).indices)


def argsort(X: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X).argsort())


def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    return to_numpy(F.one_hot(from_numpy(ids), classes))
