"""The options of an update as a compiled step gets them: its numbers are inputs, so that other ones are no other program."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import jax

from transformer_mb.trainer import TrainerOptions


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Recipe:
    """Hold what an update needs of TrainerOptions. Where a number is None its part of the update is not compiled.

    Numbers are Python's, as constants would be: each gets the dtype of the array that it meets, whether JAX knows float64
    or not. So what float32 would take from 1 - beta is made here.

    Args:
        betas: of Adam's two moments. others: 1 - beta. logarithms: of beta.
    """

    optimizer: str = field(metadata={"static": True})
    learning_rate: float
    betas: tuple[float, float]
    others: tuple[float, float]
    logarithms: tuple[float, float]
    eps: float
    momentum: float
    weight_decay: float | None
    clip_norm: float | None

    @classmethod
    def of(cls, options: TrainerOptions) -> Recipe:
        first, second = options.betas
        return cls(
            options.optimizer,
            options.learning_rate,
            options.betas,
            others=(1.0 - first, 1.0 - second),
            logarithms=(_logarithm(first), _logarithm(second)),
            eps=options.eps,
            momentum=options.momentum,
            weight_decay=options.weight_decay or None,
            clip_norm=options.clip_norm,
        )


def _logarithm(beta: float) -> float:
    return math.log(beta) if beta else -math.inf
