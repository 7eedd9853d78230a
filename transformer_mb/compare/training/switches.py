"""The parts of a training that are each framework's own, or injected; and differences planted on purpose."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...built_in import BUILT_IN
from ...errors import ConfigError
from ..builtins import row

# By name: what is injected, and what is the framework's own instead.
SWITCHES = {
    "init": ("the project's initial weights", "the framework's own initializers"),
    "dropout": ("the same masks", "the framework's own random numbers"),
    "optimizer": ("Adam as the paper has it", "the framework's own Adam with its own defaults"),
    "epsilon": ("norms with epsilon 1e-5", "norms with the framework's own epsilon"),
}
INJECTED: frozenset[str] = frozenset()
NATIVE = frozenset(SWITCHES)


def check_switches(own: Iterable[str]) -> frozenset[str]:
    """Raises ConfigError for a name that is no switch."""
    if unknown := sorted(set(own) - NATIVE):
        raise ConfigError(f"A switch must be one of {', '.join(SWITCHES)}, got {', '.join(map(repr, unknown))}.")
    return frozenset(own)


# The function of each switch; dropout's is the trainer itself, which draws where no masks are injected.
PART_OF = {"init": "initial_weights", "optimizer": "use_own_adam", "epsilon": "norm_epsilon"}


def own_part(framework: str, name: str) -> Callable[..., Any]:
    """Raises ConfigError with the reason where the framework has none."""
    if framework not in BUILT_IN:
        raise ConfigError(f"What is a framework's own must be known for {', '.join(BUILT_IN)}, got {framework!r}.")
    part = row(framework, "own_parts", name)
    if isinstance(part, str):
        raise ConfigError(f"The backend {framework} has no {name} of its own: {part}")
    return part


def without(framework: str, our_epsilon: float) -> dict[str, str]:
    """The switches that make no difference to this framework, with the reasons. Imports the framework."""
    if framework not in BUILT_IN:
        return dict.fromkeys(SWITCHES, "What is the framework's own is known for built-in backends alone.")
    parts = {switch: row(framework, "own_parts", part) for switch, part in PART_OF.items()}
    reasons = {switch: part for switch, part in parts.items() if isinstance(part, str)}
    if "epsilon" not in reasons and own_part(framework, "norm_epsilon")() == our_epsilon:
        reasons["epsilon"] = f"Its own epsilon is {our_epsilon:g} too."
    return reasons


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
