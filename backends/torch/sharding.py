"""Weights, gradients and moments in parts, one in each process: PyTorch's fully sharded data parallel (FSDP2).

Its modules take a second to import, which one process alone has no use for.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mb.errors import BackendError, ConfigError


def in_parts(model: Any, device: torch.device, size: int) -> Any:
    """The same model, each parameter split by its rows; those of a block are whole only while the block computes."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    if not hasattr(FSDPModule, "set_force_sum_reduction_for_comms"):
        raise BackendError(f"shard must be used with a torch whose FSDP can be told to add up, got {torch.__version__}.")
    if model.config.tie_output and model.config.padding_vector_zero:
        raise ConfigError("shard must be left out with padding_vector_zero and tie_output together, got it with both.")
    # What a block returns is a view of its norm's output, and nothing here changes one in place.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor", UserWarning)
    mesh = init_device_mesh(device.type, (size,))
    copy: Any = deepcopy(model)
    for side in (copy.encoder, copy.decoder):
        for block in () if side is None else side.blks:
            fully_shard(block, mesh=mesh)
    fully_shard(copy, mesh=mesh)
    for module in copy.modules():
        if isinstance(module, FSDPModule):
            # A sum, as in every other case. The mean that FSDP asks for by itself is wrong over gloo: pytorch/pytorch#162338.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)
    return copy


@torch.no_grad()
def release(model: nn.Module) -> None:
    """Let go of the memory of a model whose weights are in parts elsewhere."""
    for parameter in model.parameters():
        parameter.data = parameter.data.new_empty(0)


def part(tensor: Tensor, like: Tensor) -> Tensor:
    """Return what this process keeps of a whole tensor, where ``like`` is in parts."""
    if not hasattr(like, "full_tensor"):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    given: Any = like
    # Every process has the whole already: nothing is sent.
    return distribute_tensor(tensor, given.device_mesh, given.placements, src_data_rank=None)


def whole(tensor: Any) -> Tensor:
    """A tensor of all parts; all processes call it together."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
