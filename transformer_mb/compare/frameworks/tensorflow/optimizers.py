"""keras.optimizers, with the clipping that they take as an argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np


def _run(optimizer: Any, W: np.ndarray, gradients: Sequence[np.ndarray], rates: Sequence[float] = ()) -> np.ndarray:
    """The weights after each step: [steps, weights]."""
    weights = keras.Variable(W)
    after = []
    for i, gradient in enumerate(gradients):
        if rates:
            optimizer.learning_rate = rates[i]
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [weights])
        after.append(keras.ops.convert_to_numpy(weights).copy())
    return np.stack(after)


def adam(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(keras.optimizers.Adam(learning_rate), W, gradients)


def adam_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run(keras.optimizers.Adam(), W, gradients)


def sgd_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run(keras.optimizers.SGD(), W, gradients)


def adam_with_weight_decay(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float, weight_decay: float
) -> np.ndarray:
    return _run(keras.optimizers.Adam(learning_rate, weight_decay=weight_decay), W, gradients)


def adamw(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(keras.optimizers.AdamW(learning_rate), W, gradients)


def rmsprop(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(keras.optimizers.RMSprop(learning_rate), W, gradients)


def adagrad(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run(keras.optimizers.Adagrad(learning_rate), W, gradients)


def sgd_with_momentum(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rates: Sequence[float], momentum: float
) -> np.ndarray:
    return _run(keras.optimizers.SGD(1.0, momentum=momentum), W, gradients, learning_rates)


def _clipped(optimizer: Any, gradients: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What a step of SGD at a learning rate of 1 takes from weights of 0."""
    weights = [keras.Variable(np.zeros_like(gradient)) for gradient in gradients]
    optimizer.apply([keras.ops.convert_to_tensor(gradient) for gradient in gradients], weights)
    return [-keras.ops.convert_to_numpy(weight) for weight in weights]


def clip_by_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    return _clipped(keras.optimizers.SGD(1.0, clipnorm=norm), gradients)


def clip_by_global_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    return _clipped(keras.optimizers.SGD(1.0, global_clipnorm=norm), gradients)
