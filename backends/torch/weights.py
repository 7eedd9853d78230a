"""Canonical names are torch's own state_dict names; shared tensors count once, under the first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn


def parameter_shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


def get_weights(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: to_numpy(parameter) for name, parameter in module.named_parameters()}


@torch.no_grad()
def assign_weights(module: nn.Module, weights: Mapping[str, np.ndarray]) -> None:
    for name, parameter in module.named_parameters():
        parameter.copy_(torch.as_tensor(weights[name]))


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A copy on the host; NumPy has no bfloat16, so low precision comes as float32."""
    tensor = tensor.detach()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return tensor.cpu().numpy().copy()
