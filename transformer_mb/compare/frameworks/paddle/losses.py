"""Losses in Paddle: functions of paddle.nn.functional, which the layers call."""

from __future__ import annotations

import numpy as np
import paddle
from paddle import to_tensor
from paddle.nn import functional as F


def binary_cross_entropy(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.binary_cross_entropy(to_tensor(scores), to_tensor(targets)).numpy()


def binary_cross_entropy_probabilities(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.binary_cross_entropy(to_tensor(probabilities), to_tensor(targets)).numpy()


def binary_cross_entropy_gradient(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    p = paddle.to_tensor(probabilities, stop_gradient=False)
    F.binary_cross_entropy(p, to_tensor(targets)).backward()
    assert p.grad is not None
    return p.grad.numpy()


def squared_error(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.mse_loss(to_tensor(predictions), to_tensor(targets)).numpy()


def huber(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.smooth_l1_loss(to_tensor(predictions), to_tensor(targets)).numpy()


def kl_divergence(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.kl_div(to_tensor(predictions).log(), to_tensor(targets)).numpy()
