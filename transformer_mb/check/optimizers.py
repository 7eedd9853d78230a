"""Optimizers of two frameworks compared: from the same weights and the same gradients, one step and ten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ConfigError
from .references import found


@dataclass(frozen=True)
class Optimizer:
    """An optimizer by a name for which each framework has its own, or by the user's factories.

    Args:
        name: ``sgd``, ``adam``, ``adamw``; empty for factories. options: its numbers.
        factories: by the role of the side, ``module:attribute``. PyTorch and Paddle call it with the parameters.
    """

    name: str = ""
    options: Mapping[str, float] = field(default_factory=dict)
    factories: Mapping[str, str] = field(default_factory=dict)

    def made(self, own: Mapping[str, Callable[..., Any]], *weights: Any) -> Any:
        """Make it in the process of a side: by ``own``, the framework's table, or by the side's factory."""
        if not self.name:
            return found(self.factories["own"])(*weights)
        if self.name not in own:
            raise ConfigError(f"The optimizer must be one of {', '.join(own)} in this framework, got {self.name!r}.")
        return own[self.name](*weights, self.options)

    def of(self, role: str) -> dict[str, Any]:
        """Return what the process of a side is sent."""
        factories = {"own": self.factories[role]} if self.factories else {}
        return {**asdict(self), "factories": factories}


def sgd(learning_rate: float, momentum: float = 0.0) -> Optimizer:
    """Return stochastic gradient descent, with a momentum that is not dampened."""
    return Optimizer("sgd", {"learning_rate": learning_rate, "momentum": momentum})


def adam(learning_rate: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> Optimizer:
    """Return Adam (Kingma & Ba 2015); each framework adds epsilon in its own place, which the comparison shows."""
    return Optimizer("adam", {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon})


def adamw(
    learning_rate: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, weight_decay: float = 0.01
) -> Optimizer:
    """Return Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""
    numbers = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    return Optimizer("adamw", {**numbers, "weight_decay": weight_decay})


def own_optimizers(reference: str, candidate: str) -> Optimizer:
    """Return the optimizers that two factories make, ``module:attribute`` or ``path/to/file.py:attribute``."""
    return Optimizer(factories={"reference": reference, "candidate": candidate})
