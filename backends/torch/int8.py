"""Linear layers whose products are of whole numbers of eight bits: a step of decoding reads a quarter of the memory."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from transformer_mb.errors import DtypeError

LARGEST = 127


class Int8Linear(nn.Linear):
    """As nn.Linear of float32 on the CPU, for evaluation; its weights lie beside the rounded ones.

    Each row of the weight has a scale of its own, |row|max / 127. The input is rounded as a whole when it comes, to seven bits,
    for products of eight could overflow on processors without instructions for them (torch's dynamic quantization).
    """

    def __init__(self, linear: nn.Linear):
        super().__init__(linear.in_features, linear.out_features, linear.bias is not None, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        weight = linear.weight.detach()
        scales = weight.abs().amax(dim=1).clamp(min=torch.finfo(weight.dtype).tiny).double() / LARGEST
        zeros = torch.zeros(len(scales), dtype=torch.long)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's tensors of this kind are to move to another package
            rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
            bias = None if linear.bias is None else linear.bias.detach()
            self.packed = torch.ops.quantized.linear_prepack(rounded, bias)

    def forward(self, X: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic(X, self.packed, reduce_range=True)


def _to_int8(module: nn.Module) -> None:
    """Every linear layer within becomes an Int8Linear."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            if child.weight.dtype != torch.float32 or child.weight.device.type != "cpu":
                raise DtypeError(f"int8 is made of float32 on the CPU, got {child.weight.dtype} on {child.weight.device}.")
            setattr(module, name, Int8Linear(child))
        else:
            _to_int8(child)
