"""Canonical names are Paddle's own state_dict names; shared tensors count once, under the first.

Only the weights of nn.Linear lie differently: [in, out] here, [out, in] in canonical layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.native_parameters import NativeParameter


class Parameter(NativeParameter):
    @property
    def trained(self) -> bool:
        return not self.holder.stop_gradient

    @staticmethod
    def to_numpy(tensor: Tensor) -> np.ndarray:
        if tensor.dtype in (paddle.bfloat16, paddle.float16):
            tensor = tensor.astype(paddle.float32)  # Paddle keeps bfloat16 as integers on the host
        return tensor.numpy()

    def from_numpy(self, array: np.ndarray) -> Tensor:
        return paddle.to_tensor(array, self.holder.dtype, self.holder.place)

    @paddle.no_grad()
    def assign(self, tensor: Tensor) -> None:
        self.holder.set_value(tensor)


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none."""
    if not isinstance(module, nn.Layer):
        return {}
    linear = {id(sub.weight) for sub in module.sublayers(include_self=True) if isinstance(sub, nn.Linear)}
    return {name: Parameter(tensor, id(tensor) in linear) for name, tensor in module.named_parameters()}


def gradients(output: Tensor, tensors: Sequence[Tensor], cotangent: Tensor | None = None) -> list[Tensor]:
    """Return those of sum(output * cotangent), zeros for what has none; the parameters' own ``grad`` stays as it is."""
    gradients = paddle.grad(output, tensors, cotangent, allow_unused=True)
    return [paddle.zeros_like(t) if gradient is None else gradient for t, gradient in zip(tensors, gradients, strict=True)]
