"""Canonical names are the attributes' names; shared parameters count once, under the first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .framework import Layer


def parameter_shapes(module: Layer) -> dict[str, tuple[int, ...]]:
    return {name: parameter.value.shape for name, parameter in module.named_parameters()}


def get_weights(module: Layer) -> dict[str, np.ndarray]:
    return {name: parameter.value.copy() for name, parameter in module.named_parameters()}


def assign_weights(module: Layer, weights: Mapping[str, np.ndarray]) -> None:
    for name, parameter in module.named_parameters():
        parameter.value[...] = weights[name]
