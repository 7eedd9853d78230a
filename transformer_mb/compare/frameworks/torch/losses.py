"""Losses in torch: functions of torch.nn.functional, which the layers of the same names call."""

from __future__ import annotations

import numpy as np
from torch.nn import functional as F

from .device import from_numpy, to_numpy


def binary_cross_entropy(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return to_numpy(F.binary_cross_entropy(from_numpy(scores), from_numpy(targets)))


def binary_cross_entropy_probabilities(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return to_numpy(F.binary_cross_entropy(from_numpy(probabilities), from_numpy(targets)))


def binary_cross_entropy_gradient(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    p = from_numpy(probabilities).requires_grad_()
    F.binary_cross_entropy(p, from_numpy(targets)).backward()
    assert p.grad is not None
    return to_numpy(p.grad)


def squared_error(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return to_numpy(F.mse_loss(from_numpy(predictions), from_numpy(targets)))


def huber(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return to_numpy(F.huber_loss(from_numpy(predictions), from_numpy(targets)))


def kl_divergence(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return to_numpy(F.kl_div(from_numpy(predictions).log(), from_numpy(targets)))
