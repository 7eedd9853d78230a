"""Canonical names are the attributes' names; shared parameters count once, under the first."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.native_parameters import NativeParameter

from .framework import Module


class Parameter(NativeParameter):
    @property
    def value(self) -> numpy.ndarray:
        return self.holder.value

    @staticmethod
    def to_numpy(tensor: numpy.ndarray) -> numpy.ndarray:
        return numpy.array(tensor)

    def from_numpy(self, array: numpy.ndarray) -> numpy.ndarray:
        return mx.array(array, self.value.dtype)

    def assign(self, tensor: numpy.ndarray) -> None:
        self.holder.value = tensor


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none."""
    found = module.named_parameters() if isinstance(module, Module) else {}
    return {name: Parameter(parameter) for name, parameter in found.items()}
