"""torch's own optimizers: its Adam is the contract's formula, its AdamW and SGD likewise.

Of bfloat16 and float16 weights moments and arithmetic are in float32, and each weight is rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from transformer_mb.trainer import TrainerOptions

from .sharding import whole


def build_optimizer(parameters: Iterable[nn.Parameter], options: TrainerOptions) -> torch.optim.Optimizer:
    parameters = list(parameters)
    adam = options.learning_rate, options.betas, options.eps
    one_pass = True
    if parameters[0].is_cuda:
        # There the fused Adam takes 1 - 0.999 in float32: after a step from our moments it is off by up to 5e-4 in one number.
        one_pass = options.precision != "full"
    if options.optimizer == "adam":
        return torch.optim.Adam(parameters, *adam, fused=one_pass, foreach=not one_pass)
    if options.optimizer == "adamw":
        return torch.optim.AdamW(parameters, *adam, options.weight_decay, fused=one_pass, foreach=not one_pass)
    # Parameters in parts have a fused Adam, and no fused SGD.
    fused = not hasattr(parameters[0], "full_tensor")
    return torch.optim.SGD(parameters, options.learning_rate, options.momentum, fused=fused)


def clip_gradients(gradients: list[Tensor], clip_norm: float) -> None:
    """Scale all gradients in place by min(1, clip_norm / their common norm).

    torch's own clip_grad_norm_ adds 1e-6 to the norm, which float64 parity would see.
    """
    norm = whole(torch.nn.utils.get_total_norm([_norms_of_rows(gradient) for gradient in gradients]))
    torch._foreach_mul_(gradients, (clip_norm / norm).clamp(max=1.0))


def _norms_of_rows(gradient: Tensor) -> Tensor:
    """Shrink a gradient to its rows' norms, whose norm is the same: torch on a processor loses 1e-4 of 2,000,000 squares."""
    if gradient.ndim < 2 or gradient.is_cuda or hasattr(gradient, "full_tensor"):
        return gradient
    return torch.linalg.vector_norm(gradient, dim=-1)


class Float32Copies:
    """The ``tensors`` that an optimizer updates: each a parameter, or of two bytes a copy that is rounded once a step.

    torch.optim gives moments the dtype of what it updates.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]):
        self.tensors = [self._copied(parameter) for parameter in parameters]
        pairs = zip(self.tensors, parameters, strict=True)
        self.pairs = [(copy, parameter) for copy, parameter in pairs if copy is not parameter]

    @staticmethod
    def _copied(parameter: nn.Parameter) -> nn.Parameter:
        low = parameter.dtype in (torch.bfloat16, torch.float16)
        return nn.Parameter(parameter.detach().float()) if low else parameter

    @torch.no_grad()
    def read(self) -> None:
        for copy, parameter in self.pairs:
            copy.copy_(parameter)

    @torch.no_grad()
    def add_gradients(self) -> None:
        """Move gradients to the copies, and add them to theirs: in float32, where a sum keeps its small parts."""
        for copy, parameter in self.pairs:
            if parameter.grad is not None:
                gradient = parameter.grad.float()
                copy.grad = gradient if copy.grad is None else copy.grad + gradient
                parameter.grad = None

    @torch.no_grad()
    def write(self) -> None:
        for copy, parameter in self.pairs:
            parameter.copy_(copy)
