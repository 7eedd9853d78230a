"""What of a training is each framework's own, or injected: the same arrays and formulas in all of them."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import ConfigError

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
