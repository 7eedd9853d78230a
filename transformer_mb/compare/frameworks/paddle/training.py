"""What a model of Paddle's layers starts from and trains with where nobody chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import paddle


def norm_epsilon() -> float:
    return paddle.nn.LayerNorm(1)._epsilon


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """What the layers hold when they are made."""
    paddle.seed(seed)
    return backend.get_weights(backend.create_empty(config))


class _OwnAdam:
    """paddle.optimizer.Adam in the place of the trainer's, which hands it all gradients as few vectors, clipped."""

    def __init__(self, ours: Any):
        self.flatten, self.split = ours.flatten, ours.split
        self.parameters = ours.parameters
        self.adam = paddle.optimizer.Adam(parameters=list(ours.parameters))

    def step(self, gradients: list[paddle.Tensor], learning_rate: float, step_count: int) -> None:
        self.adam.set_lr(learning_rate)
        self.adam.apply_gradients(list(zip(self.parameters, self.split(gradients), strict=True)))


def use_own_adam(trainer: Any) -> None:
    trainer.optimizer = _OwnAdam(trainer.optimizer)


def set_adam_epsilon(trainer: Any, epsilon: float) -> None:
    """For the next step of the trainer's Adam."""
    trainer.optimizer.options = replace(trainer.optimizer.options, eps=epsilon)
