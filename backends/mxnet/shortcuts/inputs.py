"""Inputs of a training step: a batch and its dropout masks, in two vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import np as mnp

from transformer_mb.batch import Batch

from ..dropout import Dropout
from ..weights import to_device

Shapes = tuple[tuple[Any, ...], tuple[Any, ...]]


def shapes_of(batch: Batch, dropouts: Mapping[str, Dropout]) -> Shapes:
    """Return the shapes of the batch's arrays, None where there is none, and of the masks."""
    arrays = tuple(None if array is None else array.shape for array in batch)
    return arrays, tuple(dropout.keep.shape for dropout in dropouts.values())


def split(vector: mnp.ndarray, shapes: Sequence[Sequence[int]]) -> list[mx.nd.NDArray]:
    """Views of a vector that holds arrays of these shapes in a row; mxnet.np's own reshape would copy."""
    vector = vector.as_nd_ndarray()
    sizes = [math.prod(shape) for shape in shapes]
    ends = np.cumsum(sizes).tolist()
    return [vector[end - size : end].reshape(shape) for end, size, shape in zip(ends, sizes, shapes, strict=True)]


class Inputs:
    """Arrays of these shapes, to be filled for each step: what is compiled for them finds them where they are.

    Attributes:
        batch: the batch's arrays, None where there is none. masks: the factors of each dropout. arrays: all of them.
    """

    def __init__(self, shapes: Shapes, dtype: Any, context: mx.Context):
        self.shapes = shapes
        given, masks = [shape for shape in shapes[0] if shape is not None], shapes[1]
        # Memory of the host too is kept: to have a new page for every 1,024 masks takes longer than to draw them.
        self.hosts = [np.empty(sum(map(math.prod, given)), np.int64), np.empty(sum(map(math.prod, masks)), dtype)]
        self.vectors = [mnp.empty(host.shape, dtype=host.dtype, ctx=context) for host in self.hosts]
        numbers, factors = self.vectors
        self.arrays = [part.as_np_ndarray() for part in (*split(numbers, given), *split(factors, masks))]
        parts = iter(self.arrays)
        self.batch = [None if shape is None else next(parts) for shape in shapes[0]]
        self.masks = list(parts)

    def fill(self, batch: Batch, dropouts: Mapping[str, Dropout]) -> None:
        for vector in self.vectors:
            vector.wait_to_read()  # what was copied from the host's memory before
        numbers, factors = self.hosts
        np.concatenate([array for array in batch if array is not None], axis=None, out=numbers)
        end = 0
        for dropout in dropouts.values():
            start, end = end, end + dropout.keep.size
            dropout.factors(factors[start:end])
        for vector, host in zip(self.vectors, self.hosts, strict=True):
            if host.size:
                vector[:] = to_device(host[:], vector.ctx)
