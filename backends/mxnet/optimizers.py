"""Adam, AdamW and SGD over one flat vector of all parameters, so that an update takes a dozen operations.

gluon's own Adam adds epsilon before the bias correction, and keeps its hyperparameters in float32, which no choice
of epsilon repairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mxnet as mx
import numpy as np
from mxnet import np as mnp

from transformer_mb.native_parameters import NativeParameter
from transformer_mb.trainer import SLOTS, TrainerOptions

PIECE = 2**16  # numbers whose squares are added at once: of a million in float32 their sum loses up to 2e-5


class _Optimizer:
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW or SGD; ``slots``: the moments, each one vector of all parameters in a row.

    ``change`` is what the next ``step`` overwrites.
    """

    def __init__(self, parameters: Sequence[NativeParameter], options: TrainerOptions):
        self.parameters = parameters
        self.options = options
        tensors = [parameter.value for parameter in parameters]
        self.change = mnp.zeros(sum(tensor.size for tensor in tensors), dtype=tensors[0].dtype, ctx=tensors[0].ctx)
        self.slots = {slot: mnp.zeros_like(self.change) for slot in SLOTS[options.optimizer]}
        self.nothing = mnp.zeros_like(self.change)

    def step(self, gradient: mnp.ndarray, learning_rate: float, step_count: int) -> None:
        """Set ``change``, which the caller subtracts; ``step_count`` is 1 at the first step."""
        if self.options.optimizer == "sgd":
            self._sgd(gradient, learning_rate)
        else:
            self._adam(gradient, learning_rate, step_count)
        if self.options.weight_decay:
            weights = mnp.concatenate([parameter.value for parameter in self.parameters], axis=None)
            self.change += weights * (learning_rate * self.options.weight_decay)

    def _adam(self, gradient: mnp.ndarray, learning_rate: float, step_count: int) -> None:
        beta1, beta2 = self.options.betas
        m, v = self.slots["m"], self.slots["v"]
        rate, root = learning_rate / (1.0 - beta1**step_count), math.sqrt(1.0 - beta2**step_count)
        if m.dtype == np.float32:
            self._fused_adam(gradient, rate * root, self.options.eps * root)
            return
        m *= beta1
        m += gradient * (1.0 - beta1)
        v *= beta2
        v += mnp.square(gradient) * (1.0 - beta2)
        mnp.divide(m * rate, mnp.sqrt(v) / root + self.options.eps, out=self.change)

    def _fused_adam(self, gradient: mnp.ndarray, rate: float, eps: float) -> None:
        """Update by MXNet's fused operators, which hold their numbers in float32: the moments by that of momentum, where 1 -
        beta is passed, not computed from a rounded beta, and the change by Adam's, with betas that leave the moments alone."""
        beta1, beta2 = self.options.betas
        vectors = gradient, self.slots["m"], self.slots["v"], self.nothing, self.change
        gradient, m, v, nothing, change = (vector.as_nd_ndarray() for vector in vectors)
        # Written in between: nothing + moment, which is never read.
        mx.nd.sgd_mom_update(nothing, gradient, m, lr=beta1 - 1.0, momentum=beta1, wd=0.0, out=change)
        mx.nd.square(gradient, out=change)
        mx.nd.sgd_mom_update(nothing, change, v, lr=beta2 - 1.0, momentum=beta2, wd=0.0, out=change)
        # nothing - lr * m / (sqrt(v) + eps)
        mx.nd.adam_update(nothing, nothing, m, v, lr=-rate, beta1=1.0, beta2=1.0, epsilon=eps, wd=0.0, out=change)

    def _sgd(self, gradient: mnp.ndarray, learning_rate: float) -> None:
        momentum = self.slots["momentum"]
        momentum *= self.options.momentum
        momentum += gradient
        mnp.multiply(momentum, learning_rate, out=self.change)


def build_optimizer(parameters: Sequence[NativeParameter], options: TrainerOptions) -> _Optimizer:
    return _Optimizer(parameters, options)


def clip_gradients(gradients: mnp.ndarray, clip_norm: float) -> None:
    """All gradients, one flat vector, become min(1, clip_norm / norm) times what they are."""
    pieces = (gradients[first : first + PIECE] for first in range(0, gradients.size, PIECE))
    norm = mnp.sqrt(sum(mnp.dot(piece, piece) for piece in pieces))
    gradients *= mnp.minimum(clip_norm / norm, 1.0)  # in place: memory for another vector takes four times as long
