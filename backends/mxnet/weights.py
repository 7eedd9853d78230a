"""Canonical names are gluon's structural ones, but for two words; shared parameters count once, under the first name.

gluon numbers the children of a Sequential ("blks.0", here "blks.block0") and calls a normalisation's parameters
gamma and beta (here weight and bias). Dense weights are [out, in] as in the canonical layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.native_parameters import NativeParameter

CANONICAL = {"gamma": "weight", "beta": "bias"}


def named_layers(block: Any, path: str = "") -> Iterator[tuple[str, gluon.Block]]:
    """The block and all blocks inside it, by canonical path; nothing for a plain function."""
    if not isinstance(block, gluon.Block):
        return
    yield path, block
    for name, child in block._children.items():
        name = f"block{name}" if isinstance(block, nn.Sequential) else name
        yield from named_layers(child, f"{path}.{name}" if path else name)


class Parameter(NativeParameter):
    @property
    def value(self) -> mnp.ndarray:
        return self.holder.data()

    @property
    def trained(self) -> bool:
        return self.holder.grad_req != "null"

    @staticmethod
    def to_numpy(tensor: mnp.ndarray) -> np.ndarray:
        return tensor.asnumpy()

    def from_numpy(self, array: np.ndarray) -> mnp.ndarray:
        return to_device(np.array(array, self.value.dtype), self.value.ctx)

    def assign(self, tensor: mnp.ndarray) -> None:
        with autograd.pause():  # MXNet refuses to write into an array inside record()
            self.value[:] = tensor


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none."""
    parameters: dict[int, tuple[str, Parameter]] = {}
    for path, block in named_layers(module):
        for name, holder in block._reg_params.items():
            name = CANONICAL.get(name, name)
            parameters.setdefault(id(holder), (f"{path}.{name}" if path else name, Parameter(holder)))
    return dict(parameters.values())


def to_device(array: np.ndarray, context: mx.Context) -> mnp.ndarray:
    """An array of the same dtype, seven times faster than mxnet.np.array; it takes over the memory and locks it."""
    if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0:
        return mnp.array(array, dtype=array.dtype, ctx=context)  # what from_numpy does not take
    return mx.nd.from_numpy(np.ascontiguousarray(array), zero_copy=True).as_np_ndarray().as_in_ctx(context)
