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


def cross_entropy_half(logits: np.ndarray, labels: np.ndarray) -> str:
    return _type(torch.from_numpy(logits).half(), labels)


def cross_entropy_bfloat16(logits: np.ndarray, labels: np.ndarray) -> str:
    return _type(torch.from_numpy(logits).bfloat16(), labels)


def _type(logits: torch.Tensor, labels: np.ndarray) -> str:
    return str(F.cross_entropy(logits, torch.from_numpy(labels)).dtype).removeprefix("torch.")
