"""Canonical names are torch's own state_dict names; shared tensors count once, under the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_mb.native_parameters import NativeParameter

from .sharding import part, whole

# What torch.compile, activation checkpointing and the older FSDP put into the names of what they wrap.
WRAPPERS = {"_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"}


class Parameter(NativeParameter):
    @property
    def trained(self) -> bool:
        return self.holder.requires_grad

    @staticmethod
    def to_numpy(tensor: Tensor) -> np.ndarray:
        tensor = whole(tensor.detach())
        if tensor.dtype in (torch.bfloat16, torch.float16):
            tensor = tensor.float()  # NumPy has no bfloat16
        return tensor.cpu().numpy().copy()

    def from_numpy(self, array: np.ndarray) -> Tensor:
        # A copy: torch would share the caller's memory, and an update would write over it.
        return part(torch.tensor(array).to(self.holder.device, self.holder.dtype), self.holder)

    @torch.no_grad()
    def assign(self, tensor: Tensor) -> None:
        self.holder.copy_(tensor)


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name, which torch's own wrappers leave as it is; plain functions have none."""
    if not isinstance(module, nn.Module):
        return {}
    return {_unwrapped(name): Parameter(parameter) for name, parameter in module.named_parameters()}


def _unwrapped(name: str) -> str:
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)
