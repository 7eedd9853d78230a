"""Optimizers from array operations, compiled with the step that they end.

The Adam of Keras adds epsilon to the uncorrected root and keeps its rates in float32; TensorFlow's own kernel for it
rounds beta2 before it takes 1 - beta2, which in float32 puts v off by 1.3e-5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from transformer_mb.trainer import SLOTS, TrainerOptions


class _Optimizer:
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW or SGD; ``slots``: the moments, a variable of at least float32 for each."""

    def __init__(self, parameters: Sequence[tf.Variable], options: TrainerOptions):
        self.parameters = parameters
        self.options = options
        self.slots = {slot: self.zeros() for slot in SLOTS[options.optimizer]}

    def zeros(self) -> list[tf.Variable]:
        """For what is kept or added up of each parameter's gradients."""
        variables = []
        for parameter in self.parameters:
            dtype = tf.float32 if parameter.dtype in (tf.bfloat16, tf.float16) else parameter.dtype
            with tf.device(parameter.device):
                variables.append(tf.Variable(tf.zeros(parameter.shape, dtype), trainable=False))
        return variables

    def rates(self, learning_rate: float, step_count: int) -> np.ndarray:
        """What changes from step to step, made in float64: the learning rate and Adam's bias corrections.

        ``step_count`` is 1 at the first step.
        """
        beta1, beta2 = self.options.betas
        return np.array([learning_rate, 1.0 - beta1**step_count, 1.0 - beta2**step_count])

    def step(self, gradients: Sequence[tf.Tensor], rates: tf.Tensor) -> None:
        """Update all parameters."""
        update = self._sgd if self.options.optimizer == "sgd" else self._adam
        for parameter, gradient, *slots in zip(self.parameters, gradients, *self.slots.values(), strict=True):
            dtype = slots[0].dtype
            weight, (learning_rate, *corrections) = tf.cast(parameter, dtype), tf.unstack(tf.cast(rates, dtype))
            change = update(tf.cast(gradient, dtype), corrections, *slots)
            if self.options.weight_decay:
                change += self.options.weight_decay * weight
            parameter.assign(tf.cast(weight - learning_rate * change, parameter.dtype))

    def _adam(self, gradient: tf.Tensor, corrections: list[tf.Tensor], m: tf.Variable, v: tf.Variable) -> tf.Tensor:
        correction1, correction2 = corrections
        beta1, beta2 = self.options.betas
        m_new = m.assign(beta1 * m + (1.0 - beta1) * gradient)
        v_new = v.assign(beta2 * v + (1.0 - beta2) * tf.square(gradient))
        return m_new / correction1 / (tf.sqrt(v_new / correction2) + self.options.eps)

    def _sgd(self, gradient: tf.Tensor, corrections: list[tf.Tensor], momentum: tf.Variable) -> tf.Tensor:
        return momentum.assign(self.options.momentum * momentum + gradient)


def build_optimizer(parameters: Sequence[tf.Variable], options: TrainerOptions) -> _Optimizer:
    return _Optimizer(parameters, options)


def clip_gradients(gradients: Sequence[tf.Tensor], clip_norm: float) -> list[tf.Tensor]:
    """All gradients scaled by min(1, clip_norm / their common norm)."""
    scale = tf.minimum(clip_norm / tf.linalg.global_norm(gradients), 1.0)
    return [gradient * scale for gradient in gradients]
