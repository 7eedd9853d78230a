"""Canonical names are the attributes' names; shared parameters count once, under the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from transformer_mb.native_parameters import NativeParameter

from .framework import Layer


class Parameter(NativeParameter):
    @property
    def value(self) -> np.ndarray:
        return self.holder.value

    @staticmethod
    def to_numpy(tensor: np.ndarray) -> np.ndarray:
        return np.array(tensor, order="C")

    def from_numpy(self, array: np.ndarray) -> np.ndarray:
        return np.array(array, self.value.dtype)

    def assign(self, tensor: np.ndarray) -> None:
        self.value[...] = tensor


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none."""
    if not isinstance(module, Layer):
        return {}
    return {name: Parameter(parameter) for name, parameter in module.named_parameters()}
