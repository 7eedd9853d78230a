"""torch.optim and torch.nn.utils."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .device import here, to_numpy


def _run(
    optimizer: Callable[..., Any], W: np.ndarray, gradients: Sequence[np.ndarray], rates: Sequence[float] = ()
) -> np.ndarray:
    """The weights after each step: [steps, weights]."""
    weights = torch.nn.Parameter(torch.tensor(W, device=here()))
    chosen = optimizer([weights])
    after = []
    for i, gradient in enumerate(gradients):
        if rates:
            chosen.param_groups[0]["lr"] = rates[i]
        weights.grad = torch.tensor(gradient, device=here())
        chosen.step()
        after.append(to_numpy(weights).copy())
    return np.stack(after)


def adam(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda weights: torch.optim.Adam(weights, lr=learning_rate), W, gradients)


def adam_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run(torch.optim.Adam, W, gradients)


def sgd_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run(torch.optim.SGD, W, gradients)


def adam_with_weight_decay(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float, weight_decay: float
) -> np.ndarray:
    return _run(lambda weights: torch.optim.Adam(weights, lr=learning_rate, weight_decay=weight_decay), W, gradients)


def adamw(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda weights: torch.optim.AdamW(weights, lr=learning_rate), W, gradients)


def rmsprop(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda weights: torch.optim.RMSprop(weights, lr=learning_rate), W, gradients)


def adagrad(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda weights: torch.optim.Adagrad(weights, lr=learning_rate), W, gradients)


def sgd_with_momentum(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rates: Sequence[float], momentum: float
) -> np.ndarray:
    return _run(lambda weights: torch.optim.SGD(weights, lr=1.0, momentum=momentum), W, gradients, learning_rates)


def clip_by_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """clip_grad_norm_, torch's only one."""
    weights = [torch.nn.Parameter(torch.zeros(len(gradient), device=here())) for gradient in gradients]
    clipped = [torch.tensor(gradient, device=here()) for gradient in gradients]
    for weight, gradient in zip(weights, clipped, strict=True):
        weight.grad = gradient
    torch.nn.utils.clip_grad_norm_(weights, norm)  # in place
    return [to_numpy(gradient) for gradient in clipped]


clip_by_global_norm = clip_by_norm
