"""Losses in torch: functions of torch.nn.functional, which the layers of the same names call."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F


def binary_cross_entropy(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.binary_cross_entropy(torch.from_numpy(scores), torch.from_numpy(targets)).numpy()


def binary_cross_entropy_probabilities(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.binary_cross_entropy(torch.from_numpy(probabilities), torch.from_numpy(targets)).numpy()


def binary_cross_entropy_gradient(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    p = torch.from_numpy(probabilities).requires_grad_()
    F.binary_cross_entropy(p, torch.from_numpy(targets)).backward()
    assert p.grad is not None
    return p.grad.numpy()


def squared_error(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.mse_loss(torch.from_numpy(predictions), torch.from_numpy(targets)).numpy()


def huber(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.huber_loss(torch.from_numpy(predictions), torch.from_numpy(targets)).numpy()


def kl_divergence(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return F.kl_div(torch.from_numpy(predictions).log(), torch.from_numpy(targets)).numpy()
