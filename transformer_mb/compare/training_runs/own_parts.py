"""The parts of a training that a framework has of its own: ``own_parts`` of ``compare/builtins/NAME``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...built_in import BUILT_IN
from ...errors import ConfigError
from ..builtins import row
from .switches import SWITCHES

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
