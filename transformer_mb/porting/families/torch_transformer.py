"""torch.nn.Transformer and torch.nn.TransformerEncoder: projections of one attention packed, rows q, k, v."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import PortError
from ..model import Arrays, NativeFile, PortedModel
from . import nn_transformer

CROSS = "multihead_attn"
PACKED = ("in_proj_weight", "in_proj_bias")
PROJECTIONS = ("q_proj", "k_proj", "v_proj")


def recognize(native: NativeFile) -> bool:
    packed = any(name.endswith(".self_attn.in_proj_weight") for name in native.tensors)
    return packed and nn_transformer.prefix_of(native.tensors) is not None


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    optimizer = None
    if native.optimizer is not None:
        slots = {slot: {n[2:]: a for n, a in native.optimizer.items() if n.startswith(f"{slot}.")} for slot in ("m", "v")}
        moments = {f"{slot}.{name}": array for slot, found in slots.items() for name, array in _split(found).items()}
        optimizer = {"step": native.optimizer["step"], **moments}
    separate = replace(native, tensors=_split(native.tensors), optimizer=optimizer)
    return nn_transformer.read(separate, settings, CROSS, transposed=False)


def _split(tensors: Arrays) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        if leaf not in PACKED:
            found[name] = array
            continue
        if array.ndim not in (1, 2) or array.shape[0] % 3:
            raise PortError(f"{name} must hold the rows of q, k and v, got shape {list(array.shape)}.")
        for projection, part in zip(PROJECTIONS, np.split(array, 3), strict=True):
            found[f"{layer}.{projection}.{leaf.removeprefix('in_proj_')}"] = part
    return found


def write(model: PortedModel, format_name: str) -> NativeFile:
    nn_transformer.check_writable(model.config, "torch.nn.Transformer")
    tensors = _packed(nn_transformer.native_tensors(model, model.weights, CROSS, transposed=False))
    optimizer = None
    if model.optimizer is not None and not nn_transformer.is_stand_in(model):
        optimizer = {"step": model.optimizer["step"]}
        for slot in ("m", "v"):
            moments = {n[2:]: a for n, a in model.optimizer.items() if n.startswith(f"{slot}.")}
            native = _packed(nn_transformer.native_tensors(model, moments, CROSS, transposed=False))
            optimizer |= {f"{slot}.{name}": array for name, array in native.items()}
    return NativeFile(format=format_name, tensors=tensors, optimizer=optimizer)


def _packed(tensors: Arrays) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        attention, _, projection = layer.rpartition(".")
        if projection not in PROJECTIONS:
            found[name] = array
        elif projection == "q_proj":
            parts = [tensors[f"{attention}.{one}.{leaf}"] for one in PROJECTIONS]
            found[f"{attention}.in_proj_{leaf}"] = np.concatenate(parts)
    return found
