"""paddle.optimizer, with the clipping classes that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle


def _parameter(W: np.ndarray) -> paddle.Tensor:
    return paddle.create_parameter(W.shape, "float32", default_initializer=paddle.nn.initializer.Assign(W))


def _run(
    optimizer: Callable[..., Any], W: np.ndarray, gradients: Sequence[np.ndarray], rates: Sequence[float] = ()
) -> np.ndarray:
    """The weights after each step: [steps, weights]."""
    weights = _parameter(W)
    chosen = optimizer(parameters=[weights])
    after = []
    for i, gradient in enumerate(gradients):
        if rates:
            chosen.set_lr(rates[i])
        (weights * paddle.to_tensor(gradient)).sum().backward()
        chosen.step()
        chosen.clear_grad()
        after.append(weights.numpy().copy())
    return np.stack(after)


def adam(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda parameters: paddle.optimizer.Adam(learning_rate, parameters=parameters), W, gradients)


def adam_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run(paddle.optimizer.Adam, W, gradients)


def sgd_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run(paddle.optimizer.SGD, W, gradients)


def adam_with_weight_decay(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float, weight_decay: float
) -> np.ndarray:
    def optimizer(parameters: list[paddle.Tensor]) -> paddle.optimizer.Optimizer:
        return paddle.optimizer.Adam(learning_rate, parameters=parameters, weight_decay=weight_decay)

    return _run(optimizer, W, gradients)


def adamw(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda parameters: paddle.optimizer.AdamW(learning_rate, parameters=parameters), W, gradients)


def rmsprop(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda parameters: paddle.optimizer.RMSProp(learning_rate, parameters=parameters), W, gradients)


def adagrad(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(lambda parameters: paddle.optimizer.Adagrad(learning_rate, parameters=parameters), W, gradients)


def sgd_with_momentum(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rates: Sequence[float], momentum: float
) -> np.ndarray:
    def optimizer(parameters: list[paddle.Tensor]) -> paddle.optimizer.Optimizer:
        return paddle.optimizer.Momentum(1.0, momentum, parameters=parameters)

    return _run(optimizer, W, gradients, learning_rates)


def _clipped(clip: Any, gradients: Sequence[np.ndarray]) -> list[np.ndarray]:
    pairs = [(_parameter(np.zeros_like(gradient)), paddle.to_tensor(gradient)) for gradient in gradients]
    return [gradient.numpy() for _, gradient in clip(pairs)]


def clip_by_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    return _clipped(paddle.nn.ClipGradByNorm(norm), gradients)


def clip_by_global_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    return _clipped(paddle.nn.ClipGradByGlobalNorm(norm), gradients)
