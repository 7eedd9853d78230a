"""Adam and SGD over one flat vector of all parameters, so that an update takes a dozen operations.

gluon's own Adam adds epsilon before the bias correction, and keeps its hyperparameters in float32, which no choice
of epsilon repairs.
"""

from __future__ import annotations

from collections.abc import Iterable

from mxnet import gluon
from mxnet import np as mnp

from transformer_mb.trainer import SLOTS, TrainerOptions


class _Optimizer:
    """``slots`` are flat, in the parameters' order; ``change`` is what the next call of ``step`` overwrites."""

    def __init__(self, parameters: Iterable[gluon.Parameter], options: TrainerOptions):
        data = [parameter.data() for parameter in parameters]
        self.options = options
        self.change = mnp.zeros(sum(array.size for array in data), dtype=data[0].dtype, ctx=data[0].ctx)
        self.slots = {slot: mnp.zeros_like(self.change) for slot in SLOTS[options.optimizer]}


class _Adam(_Optimizer):
    """Kingma & Ba 2015, Algorithm 1."""

    def step(self, gradients: mnp.ndarray, learning_rate: float, step_count: int) -> None:
        beta1, beta2 = self.options.betas
        m, v = self.slots["m"], self.slots["v"]
        m *= beta1
        m += gradients * (1.0 - beta1)
        v *= beta2
        v += mnp.square(gradients) * (1.0 - beta2)
        denominator = mnp.sqrt(v * (1.0 / (1.0 - beta2**step_count))) + self.options.eps
        mnp.divide(m * (learning_rate / (1.0 - beta1**step_count)), denominator, out=self.change)


class _SGD(_Optimizer):
    def step(self, gradients: mnp.ndarray, learning_rate: float, step_count: int) -> None:
        velocity = self.slots["momentum"]
        velocity *= self.options.momentum
        velocity += gradients
        mnp.multiply(velocity, learning_rate, out=self.change)


def build_optimizer(parameters: Iterable[gluon.Parameter], options: TrainerOptions) -> _Optimizer:
    return (_Adam if options.optimizer == "adam" else _SGD)(parameters, options)


def clip_gradients(gradients: mnp.ndarray, clip_norm: float) -> mnp.ndarray:
    """All gradients as one flat vector, times min(1, clip_norm / norm)."""
    norm = mnp.sqrt(mnp.dot(gradients, gradients))
    return gradients * mnp.minimum(clip_norm / norm, 1.0)
