"""Optimizers from array operations, compiled with the step that they end.

The Adam of Keras adds epsilon to the uncorrected root and keeps its rates in float32; TensorFlow's own kernel for it
rounds beta2 before it takes 1 - beta2, which in float32 puts v off by 1.3e-5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from transformer_mb.trainer import SLOTS, TrainerOptions

# Numbers of a parameter that is updated together with others: an operation costs as much as arithmetic on this many.
SMALL = 2**14


class _Optimizer:
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW or SGD.

    ``slots``: the moments, a variable of at least float32 for each array of an update (see ``flatten``).
    """

    def __init__(self, parameters: Sequence[tf.Variable], options: TrainerOptions):
        self.parameters = parameters
        self.options = options
        sizes = [parameter.shape.num_elements() for parameter in parameters]
        self.small = [number for number, size in enumerate(sizes) if size <= SMALL]
        self.large = [number for number, size in enumerate(sizes) if size > SMALL]
        self.sizes = [sizes[number] for number in self.small]
        self.slots = {slot: self.zeros() for slot in SLOTS[options.optimizer]}

    def flatten(self, arrays: Sequence[tf.Tensor | tf.Variable]) -> list[tf.Tensor]:
        """Arrays of the parameters' shapes as an update takes them: the small ones end to end, then each of the others."""
        small = [tf.reshape(arrays[number], (-1,)) for number in self.small]
        large = [tf.convert_to_tensor(arrays[number]) for number in self.large]
        return [tf.concat(small, axis=0), *large] if small else large

    def split(self, flat: Sequence[tf.Tensor | tf.Variable]) -> list[tf.Tensor]:
        """The reverse of ``flatten``."""
        parts = dict(zip(self.large, flat[len(flat) - len(self.large) :], strict=True))
        pieces = tf.split(flat[0], self.sizes) if self.small else []
        parts |= {n: tf.reshape(piece, self.parameters[n].shape) for n, piece in zip(self.small, pieces, strict=True)}
        return [parts[number] for number in range(len(parts))]

    def zeros(self) -> list[tf.Variable]:
        """Make variables for what is kept or added up of each array of the gradients."""
        dtype = self.parameters[0].dtype
        dtype = tf.float32 if dtype in (tf.bfloat16, tf.float16) else dtype
        with tf.device(self.parameters[0].device):
            arrays = self.flatten([tf.zeros(parameter.shape, dtype) for parameter in self.parameters])
            return [tf.Variable(array, trainable=False) for array in arrays]

    def rates(self, learning_rate: float, step_count: int) -> np.ndarray:
        """Return what changes from step to step, made in float64: the learning rate and Adam's bias corrections.

        ``step_count`` is 1 at the first step.
        """
        beta1, beta2 = self.options.betas
        return np.array([learning_rate, 1.0 - beta1**step_count, 1.0 - beta2**step_count])

    def step(self, gradients: Sequence[tf.Tensor], rates: tf.Tensor) -> None:
        """Update all parameters by what ``flatten`` made of their gradients."""
        update = self._sgd if self.options.optimizer == "sgd" else self._adam
        dtype = gradients[0].dtype
        learning_rate, *corrections = tf.unstack(tf.cast(rates, dtype))
        arrays = zip(gradients, *self.slots.values(), strict=True)
        changes = [update(gradient, corrections, *slots) for gradient, *slots in arrays]
        if self.options.weight_decay:
            weights = self.flatten([tf.cast(parameter, dtype) for parameter in self.parameters])
            decay = self.options.weight_decay
            changes = [change + decay * weight for change, weight in zip(changes, weights, strict=True)]
        changes = self.split([learning_rate * change for change in changes])
        for parameter, change in zip(self.parameters, changes, strict=True):
            if parameter.dtype == dtype:
                parameter.assign_sub(change)
            else:
                parameter.assign(tf.cast(tf.cast(parameter, dtype) - change, parameter.dtype))

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
