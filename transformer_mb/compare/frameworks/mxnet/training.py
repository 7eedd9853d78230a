"""What a model of gluon's layers starts from and trains with where nobody chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import np as mnp


def norm_epsilon() -> float:
    return mx.gluon.nn.LayerNorm()._epsilon


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """What ``initialize()`` gives the layers."""
    mx.random.seed(seed)
    return backend.get_weights(backend.create_empty(config))


class _OwnAdam:
    """MXNet's optimizer ``adam`` in the place of the trainer's, which hands it all gradients as one vector, clipped.

    The trainer subtracts ``change``. Adam's step depends on gradients alone: taken from weights of 0 it is -change.
    """

    def __init__(self, ours: Any):
        self.change = ours.change
        self.adam = mx.optimizer.create("adam")
        self.update = mx.optimizer.get_updater(self.adam)
        self.weights = mnp.zeros_like(ours.change)

    def step(self, gradient: mnp.ndarray, learning_rate: float, step_count: int) -> None:
        self.adam.set_learning_rate(learning_rate)
        self.weights[:] = 0.0
        self.update(0, gradient, self.weights)
        self.change[:] = -self.weights


def use_own_adam(trainer: Any) -> None:
    trainer.optimizer = _OwnAdam(trainer.optimizer)


def set_adam_epsilon(trainer: Any, epsilon: float) -> None:
    """For the next step of the trainer's Adam."""
    trainer.optimizer.options = replace(trainer.optimizer.options, eps=epsilon)
