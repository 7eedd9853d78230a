"""torch's own optimizers: its Adam is the contract's formula, its SGD likewise."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from transformer_mb.trainer import TrainerOptions


def build_optimizer(parameters: Iterable[nn.Parameter], options: TrainerOptions) -> torch.optim.Optimizer:
    if options.optimizer == "adam":
        return torch.optim.Adam(parameters, options.learning_rate, options.betas, options.eps, fused=True)
    return torch.optim.SGD(parameters, options.learning_rate, options.momentum, fused=True)


def clip_gradients(gradients: list[Tensor], clip_norm: float) -> None:
    """Scale all gradients in place by min(1, clip_norm / their common norm).

    torch's own clip_grad_norm_ adds 1e-6 to the norm, which float64 parity would see.
    """
    norm = torch.nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(gradients, (clip_norm / norm).clamp(max=1.0))
