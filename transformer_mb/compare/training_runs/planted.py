"""Differences on purpose: what a comparison that is worth anything must call different, or name.

A W_v that is transposed through the whole training is none of them: Adam works on each element alone, so that it is the same
training from other initial weights, drawn alike, and on average no different. It is planted where it harms, as between the
training and the evaluation, where a checkpoint is ported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ConfigError

TRANSPOSED = "decoder.blks.block0.attention2.W_v.weight"


@dataclass(frozen=True)
class Planted:
    """What is otherwise than in the job.

    Args:
        options: of the trainer; factors: what its options are multiplied by.
        epsilon_hat: of an Adam that adds it before the bias correction. norm_epsilon: as if the framework's own were this.
        transposed: the weight that the evaluation sees transposed.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    epsilon_hat: float | None = None
    norm_epsilon: float | None = None
    transposed: str | None = None

    def trainer_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {**options, **{name: options[name] * factor for name, factor in self.factors.items()}, **self.options}

    def adam_epsilon(self, step: int, beta2: float) -> float:
        """What added after the bias correction is as much as epsilon_hat before it; the first step is 1."""
        assert self.epsilon_hat is not None
        return self.epsilon_hat / math.sqrt(1.0 - beta2**step)

    def evaluated(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: value.T if name == self.transposed else value for name, value in weights.items()}


PLANTED: dict[str, Planted] = {
    "learning rate x1.3": Planted(factors={"learning_rate": 1.3}),
    "epsilon-hat of 1e-4": Planted(epsilon_hat=1e-4),
    "no label smoothing": Planted(options={"label_smoothing": 0.0}),
    "transposed W_v": Planted(transposed=TRANSPOSED),
    "norm epsilon of 1e-1": Planted(norm_epsilon=1e-1),
}


def planted(name: str | None) -> Planted:
    """Raises ConfigError for a name that is none; None is nothing planted."""
    if name is not None and name not in PLANTED:
        raise ConfigError(f"A planted difference must be one of {', '.join(PLANTED)}, got {name!r}.")
    return Planted() if name is None else PLANTED[name]
