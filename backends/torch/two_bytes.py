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
    """Copy weights to what is updated, where that is not the parameter itself."""
    for copy, parameter in zip(updated, parameters, strict=True):
        if copy is not parameter:
            copy.copy_(parameter)


@torch.no_grad()
def add_gradients(updated: Sequence[nn.Parameter], parameters: Sequence[nn.Parameter]) -> None:
    """Move gradients to what is updated, and add them to those that it has: in float32, where a sum keeps its small parts."""
    for copy, parameter in zip(updated, parameters, strict=True):
        if copy is not parameter and parameter.grad is not None:
            gradient = parameter.grad.float()
            copy.grad = gradient if copy.grad is None else copy.grad + gradient
            parameter.grad = None


@torch.no_grad()
def write_weights(updated: Sequence[nn.Parameter], parameters: Sequence[nn.Parameter]) -> None:
    """The reverse, each weight rounded once."""
    for copy, parameter in zip(updated, parameters, strict=True):
        if copy is not parameter:
            parameter.copy_(copy)
