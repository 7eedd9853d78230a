"""Optimizers from array operations over all parameters at once.

paddle.optimizer.Adam is the contract's formula, but in float32 it rounds beta2 before it takes 1 - beta2, which puts
v off by 1.3e-5. One flat vector of all gradients makes a dozen operations a step, whatever the number of parameters:
faster than Paddle's own for a small model, slower for one of millions of weights, where the rest takes far longer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import paddle
from paddle import Tensor

from transformer_mb.trainer import SLOTS, TrainerOptions

# How much of the vectors is updated at once: a megabyte or two, so that what comes between stays in a core's cache.
CHUNK = 2**18


class _Optimizer:
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW or SGD; ``slots``: the moments, each a vector of all parameters in a row."""

    def __init__(self, parameters: Sequence[Tensor], options: TrainerOptions):
        self.parameters = parameters
        self.options = options
        zeros = [paddle.zeros_like(parameter) for parameter in parameters]
        self.sizes = [math.prod(parameter.shape) for parameter in parameters]
        self.slots = {slot: self.flatten(zeros) for slot in SLOTS[options.optimizer]}

    def flatten(self, tensors: Sequence[Tensor]) -> Tensor:
        return paddle.concat([tensor.reshape([-1]) for tensor in tensors])

    def split(self, vector: Tensor) -> list[Tensor]:
        """Views of it."""
        ends = itertools.accumulate(self.sizes)
        pieces = [vector._slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]
        return [piece.reshape(parameter.shape) for piece, parameter in zip(pieces, self.parameters, strict=True)]

    def step(self, gradient: Tensor, learning_rate: float, step_count: int) -> None:
        """Update all parameters, and overwrite ``gradient``; ``step_count`` is 1 at the first step."""
        vectors = (gradient, *self.slots.values())
        for start in range(0, gradient.shape[0], CHUNK):
            piece, *moments = (vector._slice(start, min(start + CHUNK, gradient.shape[0])) for vector in vectors)
            update = self._sgd(piece, *moments) if self.options.optimizer == "sgd" else self._adam(piece, step_count, *moments)
            paddle.assign(update, piece)
        if self.options.weight_decay:
            gradient.add_(self.flatten(self.parameters).scale_(self.options.weight_decay))
        for parameter, change in zip(self.parameters, self.split(gradient.scale_(-learning_rate)), strict=True):
            parameter.add_(change)

    def _adam(self, gradient: Tensor, step_count: int, m: Tensor, v: Tensor) -> Tensor:
        (beta1, beta2), eps = self.options.betas, self.options.eps
        m = m.scale_(beta1).add_(gradient * (1.0 - beta1))
        v = v.scale_(beta2).add_(gradient.square().scale_(1.0 - beta2))
        root = (v / (1.0 - beta2**step_count)).sqrt_().scale_(1.0, eps)
        return (m / (1.0 - beta1**step_count)).divide_(root)

    def _sgd(self, gradient: Tensor, momentum: Tensor) -> Tensor:
        return momentum.scale_(self.options.momentum).add_(gradient)


def build_optimizer(parameters: Sequence[Tensor], options: TrainerOptions) -> _Optimizer:
    return _Optimizer(parameters, options)


def clip_gradients(gradients: Tensor, clip_norm: float) -> Tensor:
    """The vector of all gradients scaled by min(1, clip_norm / its norm)."""
    norm = gradients.square().sum().sqrt()
    return gradients * (clip_norm / norm).clip(max=1.0)
