"""Linear layers that imitate products of whole numbers of eight bits in floats: what those lose."""

from __future__ import annotations

import numpy as np

from transformer_mb.errors import DtypeError

from .framework import Layer, Linear

LARGEST = 127


class Int8Linear(Linear):
    """A Linear in float32, for evaluation: its products are of rounded inputs and weights.

    Each row of the weight has a scale of its own, |row|max / 127. Each vector of the input is rounded when it comes, to 128
    levels from its least number to its greatest, of which one is zero (torch's dynamic quantization of one vector).
    """

    def __init__(self, linear: Linear):
        self.in_features, self.weight, self.bias = linear.in_features, linear.weight, linear.bias
        weight = linear.weight.value
        scales = np.maximum(np.abs(weight).max(axis=1, keepdims=True), np.finfo(weight.dtype).tiny) / LARGEST
        self.near = np.rint(weight / scales) * scales

    def forward(self, X: np.ndarray) -> np.ndarray:
        Y = _rounded_input(X).reshape(-1, X.shape[-1]) @ self.near.T
        if self.bias is not None:
            Y += self.bias.value
        return Y.reshape(*X.shape[:-1], -1)


def _rounded_input(X: np.ndarray) -> np.ndarray:
    """Round each number to the nearest of 128 levels, the same steps apart, from min(x, 0) to max(x, 0) of its vector x."""
    least, greatest = np.minimum(X.min(axis=-1, keepdims=True), 0.0), np.maximum(X.max(axis=-1, keepdims=True), 0.0)
    step = np.maximum(greatest - least, np.finfo(np.float32).tiny) / np.float32(LARGEST)
    zero = np.rint(-least / step)
    return (np.clip(np.rint(X / step) + zero, 0, LARGEST) - zero) * step


def to_int8(module: Layer) -> None:
    """Every linear layer within becomes an Int8Linear."""
    for name, child in vars(module).copy().items():
        if type(child) is Linear:
            if child.weight.value.dtype != np.float32:
                raise DtypeError(f"int8 is made of float32 on the CPU, got {child.weight.value.dtype} on cpu.")
            setattr(module, name, Int8Linear(child))
        elif isinstance(child, Layer):
            to_int8(child)
