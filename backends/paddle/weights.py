"""Canonical names are Paddle's own state_dict names; shared tensors count once, under the first.

Only the weights of nn.Linear lie differently: [in, out] here, [out, in] in canonical layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import paddle
from paddle import Tensor, nn


class Entry(NamedTuple):
    """A parameter, and whether its canonical form is its transpose."""

    parameter: Tensor
    transposed: bool

    def canonical(self, tensor: Tensor) -> np.ndarray:
        """The parameter, or a tensor of its shape such as its gradient, in canonical layout."""
        array = to_numpy(tensor)
        return np.ascontiguousarray(array.T) if self.transposed else array

    def native(self, array: np.ndarray) -> Tensor:
        """An array of canonical layout as this parameter lies, in its dtype and on its device."""
        return paddle.to_tensor(array.T if self.transposed else array, self.parameter.dtype, self.parameter.place)


def entries(module: nn.Layer) -> dict[str, Entry]:
    """Every parameter by canonical name."""
    linear = {id(sub.weight) for sub in module.sublayers(include_self=True) if isinstance(sub, nn.Linear)}
    return {name: Entry(parameter, id(parameter) in linear) for name, parameter in module.named_parameters()}


def parameter_shapes(module: nn.Layer) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape[::-1] if transposed else p.shape) for name, (p, transposed) in entries(module).items()}


def get_weights(module: nn.Layer) -> dict[str, np.ndarray]:
    return {name: entry.canonical(entry.parameter) for name, entry in entries(module).items()}


@paddle.no_grad()
def assign_weights(module: nn.Layer, weights: Mapping[str, np.ndarray]) -> None:
    for name, entry in entries(module).items():
        entry.parameter.set_value(entry.native(np.asarray(weights[name])))


def gradients(output: Tensor, tensors: Sequence[Tensor], cotangent: Tensor | None = None) -> list[Tensor]:
    """Those of sum(output * cotangent), zeros for what has none; the parameters' own ``grad`` stays as it is."""
    found = paddle.grad(output, tensors, cotangent, allow_unused=True)
    return [paddle.zeros_like(t) if gradient is None else gradient for t, gradient in zip(tensors, found, strict=True)]


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A copy on the host; Paddle keeps bfloat16 as integers there, so low precision comes as float32."""
    if tensor.dtype in (paddle.bfloat16, paddle.float16):
        tensor = tensor.astype(paddle.float32)
    return tensor.numpy()
