"""Linear layers whose products are of whole numbers of eight bits: a step of decoding reads a quarter of the memory."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from transformer_mb.errors import DtypeError

LARGEST = 127


class Int8Linear(nn.Linear):
    """An nn.Linear of float32 on the CPU, for evaluation; its weights lie beside the rounded ones.

    Each row of the weight has a scale of its own, |row|max / 127. Each vector of the input is rounded by its own least and
    greatest number when it comes, so that no row depends on another: to seven bits, for products of eight could overflow on
    processors without instructions for them. torch's dynamic quantization does so of one vector, and of more as one.
    """

    def __init__(self, linear: nn.Linear):
        super().__init__(linear.in_features, linear.out_features, linear.bias is not None, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        weight = linear.weight.detach()
        scales = (weight.abs().amax(dim=1) / LARGEST).clamp(min=torch.finfo(weight.dtype).tiny)
        zeros = torch.zeros(len(scales), dtype=torch.long)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's tensors of this kind are to move to another package
            rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(rounded, None)
            self.sums = rounded.dequantize().sum(dim=1)

    def forward(self, X: Tensor) -> Tensor:
        Y = self._product(X) if X.numel() == self.in_features else self._of_vectors(X)
        return Y if self.bias is None else Y.add_(self.bias)

    def _product(self, X: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic(X, self.packed, reduce_range=True)

    def _of_vectors(self, X: Tensor) -> Tensor:
        """Levels from 0 to 127 are multiplied, which no rounding changes where 127 is among them: x = (level + zero) * step."""
        rows = X.reshape(-1, self.in_features)
        least, greatest = rows.aminmax(dim=1, keepdim=True)
        least.clamp_(max=0.0)
        step = greatest.clamp_(min=0.0).sub_(least).div_(LARGEST).clamp_(min=torch.finfo(X.dtype).tiny)
        zero = least.div_(step).round_()  # minus the level of 0
        levels = X.new_full((len(rows) + 1, self.in_features), float(LARGEST))
        torch.div(rows, step, out=levels[:-1]).round_().sub_(zero).clamp_(max=LARGEST)  # none is below 0
        Y = torch.addcmul(self._product(levels)[:-1], zero, self.sums).mul_(step)
        return Y.view(*X.shape[:-1], self.out_features)


def to_int8(module: nn.Module) -> None:
    """Every linear layer within becomes an Int8Linear."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            if child.weight.dtype != torch.float32 or child.weight.device.type != "cpu":
                raise DtypeError(f"int8 is made of float32 on the CPU, got {child.weight.dtype} on {child.weight.device}.")
            setattr(module, name, Int8Linear(child))
        else:
            to_int8(child)
