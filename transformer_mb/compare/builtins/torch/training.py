"""torch.optim with clipping, torch's random numbers and initializers, and the parts of a training that torch has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, optim

from ..calls import Table, seeding
from .arrays import called, here, to_numpy

seeded = seeding(torch.manual_seed)


def stepped(optimizer: Callable[..., Any], *names: str) -> Callable[..., np.ndarray]:
    """Return the weights after each step, [steps, weights], of an optimizer given settings by name, and rates by step."""

    def run(W: np.ndarray, gradients: Sequence[np.ndarray], *settings: Any, rates: Sequence[float] = ()) -> np.ndarray:
        weights = nn.Parameter(torch.tensor(W, device=here()))
        chosen = optimizer([weights], **dict(zip(names, settings, strict=True)))
        after = []
        for i, gradient in enumerate(gradients):
            if rates:
                chosen.param_groups[0]["lr"] = rates[i]
            weights.grad = torch.tensor(gradient, device=here())
            chosen.step()
            after.append(to_numpy(weights).copy())
        return np.stack(after)

    return run


def clip_grad_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """Clip by the global norm, the only clipping by norm that torch has."""
    weights = [nn.Parameter(torch.zeros(len(gradient), device=here())) for gradient in gradients]
    clipped = [torch.tensor(gradient, device=here()) for gradient in gradients]
    for weight, gradient in zip(weights, clipped, strict=True):
        weight.grad = gradient
    nn.utils.clip_grad_norm_(weights, norm)  # in place
    return [to_numpy(gradient) for gradient in clipped]


def dense(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    layer = nn.Linear(inputs, outputs, device=here())
    return layer.weight, layer.bias


def uniform(count: int) -> Tensor:
    return torch.rand(count, device=here())


def initialized_twice(shape: tuple[int, ...]) -> list[Tensor]:
    return [nn.init.xavier_uniform_(torch.empty(shape, device=here())) for _ in range(2)]


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """Return the weights that the layers start with; the caller's random numbers stay as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return backend.get_weights(backend.create_empty(config))


def use_own_adam(trainer: Any) -> None:
    """Replace the trainer's Adam by torch's with its defaults; the trainer sets the learning rate of every step."""
    trainer.optimizer = optim.Adam(trainer.updated)


TABLES: dict[str, Table] = {
    "optimizers": {
        "adam": stepped(optim.Adam, "lr"),
        "adam_by_default": stepped(optim.Adam),
        "sgd_by_default": stepped(optim.SGD),
        "adam_with_weight_decay": stepped(optim.Adam, "lr", "weight_decay"),
        "adamw": stepped(optim.AdamW, "lr"),
        "rmsprop": stepped(optim.RMSprop, "lr"),
        "adagrad": stepped(optim.Adagrad, "lr"),
        "sgd_with_momentum": stepped(optim.SGD, "lr", "momentum"),
        "clip_by_norm": clip_grad_norm,
        "clip_by_global_norm": clip_grad_norm,
    },
    "random_numbers": called(
        dense=seeded(dense),
        embedding=seeded(lambda vocabulary, size: nn.Embedding(vocabulary, size, device=here()).weight),
        truncated_normal=seeded(lambda std, shape: nn.init.trunc_normal_(torch.empty(shape, device=here()), std=std)),
        initialized_twice=initialized_twice,
        uniform=seeded(uniform),
        uniform_twice=seeded(lambda count: (uniform(count), uniform(count))),
        normal=seeded(lambda count: torch.randn(count, device=here())),
        dropout=seeded(lambda X, rate, training: nn.Dropout(rate).train(training)(X)),
    ),
    "own_parts": {
        "norm_epsilon": lambda: nn.LayerNorm(1).eps,
        "initial_weights": initial_weights,
        "use_own_adam": use_own_adam,
    },
}
