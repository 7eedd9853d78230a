"""Cross-entropy in torch: functions of torch.nn.functional, which the layers of the same names call."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from .device import from_numpy, to_numpy


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return to_numpy(F.cross_entropy(from_numpy(logits), from_numpy(labels)))


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return to_numpy(F.cross_entropy(from_numpy(scores), from_numpy(labels)))


def cross_entropy_ignoring(logits: np.ndarray, labels: np.ndarray, ignored: int) -> np.ndarray:
    return to_numpy(F.cross_entropy(from_numpy(logits), from_numpy(labels), ignore_index=ignored))


def cross_entropy_smoothed(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> np.ndarray:
    return to_numpy(F.cross_entropy(from_numpy(logits), from_numpy(labels), label_smoothing=smoothing))


def cross_entropy_half(logits: np.ndarray, labels: np.ndarray) -> str:
    return _type(from_numpy(logits).half(), labels)


def cross_entropy_bfloat16(logits: np.ndarray, labels: np.ndarray) -> str:
    return _type(from_numpy(logits).bfloat16(), labels)


def _type(logits: torch.Tensor, labels: np.ndarray) -> str:
    return str(F.cross_entropy(logits, from_numpy(labels)).dtype).removeprefix("torch.")
