"""The parts of a training that a framework has of its own: ``compare/frameworks/NAME/training.py``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...built_in import BUILT_IN
from ...errors import ConfigError
from .switches import SWITCHES

# The function of each switch; dropout's is the trainer itself, which draws where no masks are injected.
PART_OF = {"init": "initial_weights", "optimizer": "use_own_adam", "epsilon": "norm_epsilon"}


def own_part(framework: str, name: str) -> Callable[..., Any]:
    """Raises ConfigError with the reason where the framework has none."""
    if framework not in BUILT_IN:
        raise ConfigError(f"What is a framework's own must be known for {', '.join(BUILT_IN)}, got {framework!r}.")
    module = _module(framework)
    if reason := getattr(module, "ABSENT", {}).get(name):
        raise ConfigError(f"The backend {framework} has no {name} of its own: {reason}")
    return getattr(module, name)


def without(framework: str, our_epsilon: float) -> dict[str, str]:
    """The switches that make no difference to this framework, with the reasons. Imports the framework."""
    if framework not in BUILT_IN:
        return dict.fromkeys(SWITCHES, "What is the framework's own is known for built-in backends alone.")
    absent = getattr(_module(framework), "ABSENT", {})
    reasons = {switch: absent[part] for switch, part in PART_OF.items() if part in absent}
    if "epsilon" not in reasons and own_part(framework, "norm_epsilon")() == our_epsilon:
        reasons["epsilon"] = f"Its own epsilon is {our_epsilon:g} too."
    return reasons


def _module(framework: str) -> Any:
    return import_module(f"transformer_mb.compare.frameworks.{framework}.training")
