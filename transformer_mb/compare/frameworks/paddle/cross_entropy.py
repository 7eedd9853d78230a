"""Cross-entropy in Paddle: functions of paddle.nn.functional, which the layers call."""

from __future__ import annotations

import numpy as np
from paddle import to_tensor
from paddle.nn import functional as F


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return F.cross_entropy(to_tensor(logits), to_tensor(labels)).numpy()


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return F.cross_entropy(to_tensor(scores), to_tensor(labels)).numpy()


def cross_entropy_ignoring(logits: np.ndarray, labels: np.ndarray, ignored: int) -> np.ndarray:
    return F.cross_entropy(to_tensor(logits), to_tensor(labels), ignore_index=ignored).numpy()


def cross_entropy_smoothed(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> np.ndarray:
    return F.cross_entropy(to_tensor(logits), to_tensor(labels), label_smoothing=smoothing).numpy()


def cross_entropy_half(logits: np.ndarray, labels: np.ndarray) -> str:
    return str(F.cross_entropy(to_tensor(logits).astype("float16"), to_tensor(labels)).dtype).removeprefix("paddle.")


def cross_entropy_bfloat16(logits: np.ndarray, labels: np.ndarray) -> str:
    return str(F.cross_entropy(to_tensor(logits).astype("bfloat16"), to_tensor(labels)).dtype).removeprefix("paddle.")
