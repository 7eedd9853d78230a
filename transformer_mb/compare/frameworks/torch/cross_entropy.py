"""Cross-entropy in torch: functions of torch.nn.functional, which the layers of the same names call."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(labels)).numpy()


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return F.cross_entropy(torch.from_numpy(scores), torch.from_numpy(labels)).numpy()


def cross_entropy_ignoring(logits: np.ndarray, labels: np.ndarray, ignored: int) -> np.ndarray:
    return F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(labels), ignore_index=ignored).numpy()


def cross_entropy_smoothed(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> np.ndarray:
    return F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(labels), label_smoothing=smoothing).numpy()


def cross_entropy_type(logits: np.ndarray, labels: np.ndarray, dtype: str) -> str:
    loss = F.cross_entropy(torch.from_numpy(logits).to(getattr(torch, dtype)), torch.from_numpy(labels))
    return str(loss.dtype).removeprefix("torch.")
