"""torch.index_select, indexing with a tensor, argmax, amax, topk, argsort and one_hot."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return torch.from_numpy(X).index_select(0, torch.from_numpy(ids)).numpy()


def index(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return torch.from_numpy(X)[torch.from_numpy(ids)].numpy()


def argmax(X: np.ndarray) -> np.ndarray:
    return torch.from_numpy(X).argmax(-1).numpy()


def maximum(X: np.ndarray) -> np.ndarray:
    return torch.from_numpy(X).amax(-1).numpy()


def top_k(X: np.ndarray, k: int) -> np.ndarray:
    return torch.from_numpy(X).topk(k).indices.numpy()


def argsort(X: np.ndarray) -> np.ndarray:
    return torch.from_numpy(X).argsort().numpy()


def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    return F.one_hot(torch.from_numpy(ids), classes).numpy()
