"""NumPy has nothing to train with: the NumPy backend's parts are this project's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

ABSENT = {
    "initial_weights": "NumPy has no initializers.",
    "use_own_adam": "NumPy has no optimizers.",
    "norm_epsilon": "NumPy has no norms.",
}


def set_adam_epsilon(trainer: Any, epsilon: float) -> None:
    """For the next step."""
    trainer.optimizer.options = replace(trainer.optimizer.options, eps=epsilon)
