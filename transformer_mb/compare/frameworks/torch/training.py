"""What a model of torch's layers starts from and trains with where nobody chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def norm_epsilon() -> float:
    return torch.nn.LayerNorm(1).eps


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """What the layers hold when they are made; the caller's random numbers stay as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return backend.get_weights(backend.create_empty(config))


def use_own_adam(trainer: Any) -> None:
    """The trainer sets the learning rate of every step."""
    trainer.optimizer = torch.optim.Adam(trainer.updated)


def set_adam_epsilon(trainer: Any, epsilon: float) -> None:
    """For the next step."""
    for group in trainer.optimizer.param_groups:
        group["eps"] = epsilon
