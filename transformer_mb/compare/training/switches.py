"""The parts of a training that are each framework's own, or injected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

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
    """Return them as a set. Raises ConfigError for a name that is no switch."""
    if unknown := sorted(set(own) - NATIVE):
        raise ConfigError(f"A switch must be one of {', '.join(SWITCHES)}, got {', '.join(map(repr, unknown))}.")
    return frozenset(own)


# The function of each switch; dropout's is the trainer itself, which draws where no masks are injected.
PART_OF = {"init": "initial_weights", "optimizer": "use_own_adam", "epsilon": "norm_epsilon"}


def own_part(framework: str, name: str) -> Callable[..., Any]:
    """Return the part. Raises ConfigError with the reason where the framework has none."""
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
