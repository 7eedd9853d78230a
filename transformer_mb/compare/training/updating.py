"""Optimizers with the switches that frameworks set differently, in NumPy: gradients in, new weights out.

A trainer has none of these switches, since all backends have to do the same; here what differs is what is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class UpdateOptions:
    """An optimizer with its clipping, each switch as some framework has it. The defaults are ``TrainerOptions``' formulas.

    Args:
        optimizer: ``adam`` or ``sgd``. learning_rate: the peak of the schedule.
        eps: Adam's. eps_in: added to the root of the ``corrected`` second moment (Kingma & Ba 2015, Algorithm 1), or of the
            ``raw`` one with the corrections in the step size (their section 2, last paragraph: epsilon-hat).
        weight_decay: 0 is none. decay: ``gradient`` adds weight_decay * weight to the gradient, ``decoupled`` takes
            learning rate * weight_decay * weight from the weight (Loshchilov & Hutter 2019).
        momentum: SGD's. velocity: sums ``gradients``, times the learning rate of now; or ``steps``, each with the learning
            rate of its time.
        clip_norm: None is none. clip: the norm of all gradients ``together``, or of ``each`` variable's by itself.
            clip_eps: added to the norm that divides.
    """

    optimizer: str = "adam"
    learning_rate: float = 0.005
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    eps_in: str = "corrected"
    weight_decay: float = 0.0
    decay: str = "decoupled"
    momentum: float = 0.0
    velocity: str = "gradients"
    clip_norm: float | None = 1.0
    clip: str = "together"
    clip_eps: float = 0.0


class Updates:
    """The optimizer's moments, and its steps. Arithmetic is in the weights' dtype."""

    def __init__(self, options: UpdateOptions, weights: Arrays):
        self.options = options
        self.weights = {name: np.array(value) for name, value in weights.items()}
        self.first = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.second = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.count = 0

    def step(self, gradients: Arrays, learning_rate: float) -> None:
        """Clip, then move every weight."""
        self.count += 1
        gradients = clipped(gradients, self.options)
        moves = self._adam if self.options.optimizer == "adam" else self._sgd
        rate = learning_rate * self.options.weight_decay
        for name, weight in self.weights.items():
            gradient = gradients[name]
            decayed = rate * weight if self.options.decay == "decoupled" else 0.0
            if rate and self.options.decay == "gradient":
                gradient = gradient + self.options.weight_decay * weight
            weight -= moves(name, gradient, learning_rate) + decayed

    def _adam(self, name: str, gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        beta1, beta2 = self.options.betas
        first, second = self.first[name], self.second[name]
        first += (1.0 - beta1) * (gradient - first)
        second += (1.0 - beta2) * (gradient * gradient - second)
        left1, left2 = 1.0 - beta1**self.count, 1.0 - beta2**self.count
        if self.options.eps_in == "raw":
            return learning_rate * math.sqrt(left2) / left1 * first / (np.sqrt(second) + self.options.eps)
        return learning_rate / left1 * first / (np.sqrt(second / left2) + self.options.eps)

    def _sgd(self, name: str, gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        velocity = self.first[name]
        velocity *= self.options.momentum
        velocity += gradient if self.options.velocity == "gradients" else learning_rate * gradient
        return learning_rate * velocity if self.options.velocity == "gradients" else velocity.copy()


def clipped(gradients: Arrays, options: UpdateOptions) -> Arrays:
    """Multiply each gradient by min(1, clip_norm / (norm + clip_eps))."""
    limit = options.clip_norm
    if limit is None:
        return gradients
    squares = {name: float(np.vdot(gradient, gradient)) for name, gradient in gradients.items()}
    together = math.sqrt(sum(squares.values()))
    norms = {name: together if options.clip == "together" else math.sqrt(square) for name, square in squares.items()}
    scales = {
        name: limit / (norm + options.clip_eps) if norm + options.clip_eps > limit else 1.0 for name, norm in norms.items()
    }
    return {name: gradient * scales[name] for name, gradient in gradients.items()}
