"""Adam and SGD by their formulas, over all parameters as one long array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer_mb.trainer import TrainerOptions

from .framework import Parameter, flatten

# So many numbers at a time: the five arrays of an update then stay in the processor's cache.
CHUNK = 16384


class _Optimizer:
    """``moments`` by slot name, each as long as all parameters together."""

    slots: tuple[str, ...] = ()

    def __init__(self, parameters: Sequence[Parameter], options: TrainerOptions):
        self.options = options
        self.whole = flatten(parameters)
        self.moments = {slot: np.zeros_like(self.whole.value) for slot in self.slots}

    def step(self, learning_rate: float, count: int) -> None:
        """Update the weights from their gradients; ``count`` is 1 at the first step."""
        for start in range(0, self.whole.value.size, CHUNK):
            part = slice(start, start + CHUNK)
            moments = [moment[part] for moment in self.moments.values()]
            self._update(self.whole.value[part], self.whole.gradient[part], *moments, learning_rate, count)

    def _update(self, weight: np.ndarray, gradient: np.ndarray, *rest) -> None:
        raise NotImplementedError


class _Adam(_Optimizer):
    """Kingma & Ba 2015, Algorithm 1."""

    slots = ("m", "v")

    def _update(self, weight, gradient, m, v, learning_rate, count):
        beta1, beta2 = self.options.betas
        m *= beta1
        m += (1.0 - beta1) * gradient
        v *= beta2
        v += (1.0 - beta2) * gradient * gradient
        denominator = v * (1.0 / (1.0 - beta2**count))
        np.sqrt(denominator, out=denominator)
        denominator += self.options.eps
        np.divide(m, denominator, out=denominator)
        denominator *= learning_rate / (1.0 - beta1**count)
        weight -= denominator


class _SGD(_Optimizer):
    slots = ("momentum",)

    def _update(self, weight, gradient, momentum, learning_rate, count):
        momentum *= self.options.momentum
        momentum += gradient
        weight -= learning_rate * momentum


def build_optimizer(parameters: Sequence[Parameter], options: TrainerOptions) -> _Optimizer:
    return (_Adam if options.optimizer == "adam" else _SGD)(parameters, options)


def clip_gradients(gradients: Sequence[np.ndarray], clip_norm: float) -> None:
    """Scale all gradients in place by min(1, clip_norm / their common norm)."""
    norm = float(np.sqrt(sum(np.vdot(gradient, gradient) for gradient in gradients)))
    if norm > clip_norm:
        for gradient in gradients:
            gradient *= clip_norm / norm
