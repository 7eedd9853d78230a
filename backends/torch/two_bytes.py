"""Updates of bfloat16 and float16 weights: moments and arithmetic in float32, each weight rounded once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


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
