"""torch's own optimizers: its Adam is the contract's formula, its SGD likewise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from transformer_mb.trainer import TrainerOptions


def build_optimizer(parameters: Iterable[nn.Parameter], options: TrainerOptions) -> torch.optim.Optimizer:
    if options.optimizer == "adam":
        return torch.optim.Adam(parameters, options.learning_rate, options.betas, options.eps, fused=True)
    return torch.optim.SGD(parameters, options.learning_rate, options.momentum, fused=True)


def at_least_float32(parameter: nn.Parameter) -> nn.Parameter:
    """What an optimizer updates: of a parameter of two bytes a copy in float32, for torch gives moments their dtype."""
    low = parameter.dtype in (torch.bfloat16, torch.float16)
    return nn.Parameter(parameter.detach().float()) if low else parameter


@torch.no_grad()
def read_weights(updated: Sequence[nn.Parameter], parameters: Sequence[nn.Parameter]) -> None:
    """Copy weights and gradients to what is updated, where that is not the parameter itself."""
    for copy, parameter in zip(updated, parameters, strict=True):
        if copy is not parameter:
            copy.copy_(parameter)
            copy.grad = None if parameter.grad is None else parameter.grad.float()


@torch.no_grad()
def write_weights(updated: Sequence[nn.Parameter], parameters: Sequence[nn.Parameter]) -> None:
    """The reverse, each weight rounded once."""
    for copy, parameter in zip(updated, parameters, strict=True):
        if copy is not parameter:
            parameter.copy_(copy)


def clip_gradients(gradients: list[Tensor], clip_norm: float) -> None:
    """Scale all gradients in place by min(1, clip_norm / their common norm).

    torch's own clip_grad_norm_ adds 1e-6 to the norm, which float64 parity would see.
    """
    norm = torch.nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(gradients, (clip_norm / norm).clamp(max=1.0))
