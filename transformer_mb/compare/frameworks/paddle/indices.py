"""paddle.gather, indexing with a tensor, argmax, max, topk, argsort and one_hot."""

from __future__ import annotations

import numpy as np
import paddle
from paddle.nn import functional as F


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return paddle.gather(paddle.to_tensor(X), paddle.to_tensor(ids)).numpy()


def index(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return paddle.to_tensor(X)[paddle.to_tensor(ids)].numpy()


def argmax(X: np.ndarray) -> np.ndarray:
    return paddle.to_tensor(X).argmax(-1).numpy()


def maximum(X: np.ndarray) -> np.ndarray:
    return paddle.to_tensor(X).max(-1).numpy()


def top_k(X: np.ndarray, k: int) -> np.ndarray:
    return paddle.to_tensor(X).topk(k)[1].numpy()


def argsort(X: np.ndarray) -> np.ndarray:
    return paddle.to_tensor(X).argsort().numpy()


def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    return F.one_hot(paddle.to_tensor(ids), classes).numpy()
