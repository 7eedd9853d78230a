"""Optimizers from array operations over all parameters at once.

paddle.optimizer.Adam is the contract's formula, but in float32 it rounds beta2 before it takes 1 - beta2, which puts
v off by 1.3e-5. Flat vectors of many gradients each make a dozen operations a step for a small model, whatever the number of
its parameters: faster than Paddle's own there, slower for millions of weights, where the rest takes far longer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import partial

import paddle
from paddle import Tensor

from transformer_mb.trainer import SLOTS, TrainerOptions

# How much of a vector is updated at once: a megabyte or two, so that what comes between stays in a core's cache.
CHUNK = 2**18
# The longest vector of several parameters. One of all would need as much memory at once as the whole model.
LONGEST = 2**20


class _Optimizer:
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW or SGD; ``slots``: the moments, as ``flatten`` has them."""

    def __init__(self, parameters: Sequence[Tensor], options: TrainerOptions):
        self.options, self.parameters = options, parameters
        self.groups: list[list[Tensor]] = [[]]
        for parameter in parameters:
            if sum(map(_count, [*self.groups[-1], parameter])) > LONGEST and self.groups[-1]:
                self.groups.append([])
            self.groups[-1].append(parameter)
        slots = SLOTS[options.optimizer]
        self.slots = {slot: self.flatten([paddle.zeros_like(parameter) for parameter in parameters]) for slot in slots}

    def flatten(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        """Few vectors, each of several tensors in a row, which are in the order of the parameters."""
        following = iter(tensors)
        return [paddle.concat([next(following).reshape([-1]) for _ in group]) for group in self.groups]

    def split(self, vectors: Sequence[Tensor]) -> list[Tensor]:
        """Views of them, one for each parameter."""
        return [view for vector, group in zip(vectors, self.groups, strict=True) for view in _views(vector, group)]

    def step(self, gradients: Sequence[Tensor], learning_rate: float, step_count: int) -> None:
        """Update all parameters, and overwrite ``gradients``; ``step_count`` is 1 at the first step."""
        update = self._sgd if self.options.optimizer == "sgd" else partial(self._adam, step_count)
        for group, *vectors in zip(self.groups, gradients, *self.slots.values(), strict=True):
            for piece, *moments in zip(*map(_pieces, vectors), strict=True):
                paddle.assign(update(piece, *moments), piece)
            if self.options.weight_decay:
                weights = paddle.concat([parameter.reshape([-1]) for parameter in group])
                vectors[0].add_(weights.scale_(self.options.weight_decay))
            for parameter, change in zip(group, _views(vectors[0].scale_(-learning_rate), group), strict=True):
                parameter.add_(change)

    def _adam(self, step_count: int, gradient: Tensor, m: Tensor, v: Tensor) -> Tensor:
        (beta1, beta2), eps = self.options.betas, self.options.eps
        m = m.scale_(beta1).add_(gradient * (1.0 - beta1))
        v = v.scale_(beta2).add_(gradient.square().scale_(1.0 - beta2))
        root = (v / (1.0 - beta2**step_count)).sqrt_().scale_(1.0, eps)
        return (m / (1.0 - beta1**step_count)).divide_(root)

    def _sgd(self, gradient: Tensor, momentum: Tensor) -> Tensor:
        return momentum.scale_(self.options.momentum).add_(gradient)


def build_optimizer(parameters: Sequence[Tensor], options: TrainerOptions) -> _Optimizer:
    return _Optimizer(parameters, options)


def clip_gradients(gradients: Sequence[Tensor], clip_norm: float) -> None:
    """Scale the gradients in place by min(1, clip_norm / the norm of all of them)."""
    squares = [piece.square().sum() for vector in gradients for piece in _pieces(vector)]
    factor = (clip_norm / paddle.stack(squares).sum().sqrt()).clip(max=1.0)
    for vector in gradients:
        vector.multiply_(factor)


def _count(tensor: Tensor) -> int:
    return math.prod(tensor.shape)


def _pieces(vector: Tensor) -> list[Tensor]:
    """Views of CHUNK elements each."""
    count = vector.shape[0]
    return [vector._slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]


def _views(vector: Tensor, group: Sequence[Tensor]) -> list[Tensor]:
    """View what belongs to each parameter, in its shape."""
    sizes = [_count(parameter) for parameter in group]
    pieces = [vector._slice(end - size, end) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]
    return [piece.reshape(parameter.shape) for piece, parameter in zip(pieces, group, strict=True)]
