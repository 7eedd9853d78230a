"""torch.nn.Transformer and torch.nn.TransformerEncoder: projections of one attention packed, rows q, k, v."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import PortError
from ..model import Arrays, NativeFile, PortedModel
from . import nn_transformer
from .stack_layout import stems_of

PACKED = ("in_proj_weight", "in_proj_bias")
PROJECTIONS = ("q_proj", "k_proj", "v_proj")


def recognize(native: NativeFile) -> bool:
    packed = any(name.endswith(".self_attn.in_proj_weight") for name in native.tensors)
    return packed and bool(stems_of(native.tensors))


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    return nn_transformer.read(native, settings, STACKS)


def write(model: PortedModel, format_name: str, settings: Mapping[str, Any]) -> NativeFile:
    return nn_transformer.write(model, format_name, STACKS)


def _split(tensors: Arrays) -> dict[str, np.ndarray]:
    separate: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        if leaf not in PACKED:
            separate[name] = array
            continue
        if array.ndim not in (1, 2) or array.shape[0] % 3:
            raise PortError(f"{name} must hold the rows of q, k and v, got shape {list(array.shape)}.")
        for projection, part in zip(PROJECTIONS, np.split(array, 3), strict=True):
            separate[f"{layer}.{projection}.{leaf.removeprefix('in_proj_')}"] = part
    return separate


def _packed(tensors: Arrays) -> dict[str, np.ndarray]:
    packed: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        attention, _, projection = layer.rpartition(".")
        if projection not in PROJECTIONS:
            packed[name] = array
        elif projection == "q_proj":
            parts = [tensors[f"{attention}.{one}.{leaf}"] for one in PROJECTIONS]
            packed[f"{attention}.in_proj_{leaf}"] = np.concatenate(parts)
    return packed


STACKS = nn_transformer.Stacks(
    title="torch.nn.Transformer", cross="multihead_attn", transposed=False, packed=_packed, split=_split
)
