"""What a model of Keras' layers starts from and trains with where nobody chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ABSENT = {"set_adam_epsilon": "The compiled step holds epsilon as a constant."}


def norm_epsilon() -> float:
    return keras.layers.LayerNormalization().epsilon


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """What the layers hold when they are made."""
    keras.utils.set_random_seed(seed)
    return backend.get_weights(backend.create_empty(config))


class _OwnAdam:
    """keras.optimizers.Adam in the place of the trainer's, which hands it all gradients as few vectors, clipped."""

    def __init__(self, ours: Any, variables: Sequence[keras.Variable]):
        self.flatten, self.split = ours.flatten, ours.split
        self.variables = list(variables)
        self.adam = keras.optimizers.Adam()
        self.adam.build(self.variables)

    @property
    def slots(self) -> dict[str, list[tf.Variable]]:
        return {"m": [tf.zeros((), variable.dtype) for variable in self.variables]}  # the trainer asks for their dtype

    def rates(self, learning_rate: float, step_count: int) -> np.ndarray:
        return np.array([learning_rate])

    def step(self, gradients: Sequence[tf.Tensor], rates: tf.Tensor) -> None:
        self.adam.learning_rate.assign(tf.cast(rates[0], self.adam.learning_rate.dtype))
        self.adam.apply(self.split(gradients), self.variables)


def use_own_adam(trainer: Any) -> None:
    trainer.optimizer = _OwnAdam(trainer.optimizer, [parameter.holder for parameter in trainer.parameters.values()])
