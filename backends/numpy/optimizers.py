"""Adam and SGD by their formulas, over all parameters as one long array."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transformer_mb.trainer import SLOTS, TrainerOptions

from .framework import Parameter, flatten
from .rounding import format_of, rounded_array

# So many numbers at a time: the five arrays of an update then stay in the processor's cache.
CHUNK = 16384


class _Optimizer:
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW or SGD; ``slots``: the moments, each one array of all parameters in a row."""

    def __init__(self, parameters: Sequence[Parameter], options: TrainerOptions):
        self.options = options
        self.rounded_to = format_of(parameters[0].value)
        self.whole = flatten(parameters)
        self.slots = {slot: np.zeros_like(self.whole.value) for slot in SLOTS[options.optimizer]}

    def step(self, learning_rate: float, step_count: int) -> None:
        """Update all parameters from their gradients; ``step_count`` is 1 at the first step."""
        update = self._sgd if self.options.optimizer == "sgd" else self._adam
        for start in range(0, self.whole.value.size, CHUNK):
            part = slice(start, start + CHUNK)
            slots = [moments[part] for moments in self.slots.values()]
            update(self.whole.value[part], self.whole.gradient[part], learning_rate, step_count, *slots)
        if self.rounded_to is not None:
            self.whole.value[...] = rounded_array(self.whole.value, self.rounded_to)

    def _adam(
        self, weight: np.ndarray, gradient: np.ndarray, learning_rate: float, step_count: int, m: np.ndarray, v: np.ndarray
    ) -> None:
        beta1, beta2 = self.options.betas
        m *= beta1
        m += (1.0 - beta1) * gradient
        v *= beta2
        v += (1.0 - beta2) * gradient * gradient
        denominator = v * (1.0 / (1.0 - beta2**step_count))
        np.sqrt(denominator, out=denominator)
        denominator += self.options.eps
        np.divide(m, denominator, out=denominator)
        denominator *= learning_rate / (1.0 - beta1**step_count)
        if self.options.weight_decay:  # an operation of its own, as in torch.optim.AdamW
            weight *= 1.0 - learning_rate * self.options.weight_decay
        weight -= denominator

    def _sgd(
        self, weight: np.ndarray, gradient: np.ndarray, learning_rate: float, step_count: int, momentum: np.ndarray
    ) -> None:
        momentum *= self.options.momentum
        momentum += gradient
        weight -= learning_rate * momentum


def build_optimizer(parameters: Sequence[Parameter], options: TrainerOptions) -> _Optimizer:
    return _Optimizer(parameters, options)


def clip_gradients(gradients: Sequence[np.ndarray], clip_norm: float) -> None:
    """Scale all gradients in place by min(1, clip_norm / their common norm).

    Its parts are added in float64: the squares of 5 million numbers, summed in float32, lose two digits.
    """
    flat = [gradient.reshape(-1) for gradient in gradients]
    parts = [gradient[start : start + CHUNK] for gradient in flat for start in range(0, gradient.size, CHUNK)]
    norm = math.sqrt(math.fsum(np.vdot(part, part) for part in parts))
    if norm > clip_norm:
        for gradient in gradients:
            gradient *= clip_norm / norm
