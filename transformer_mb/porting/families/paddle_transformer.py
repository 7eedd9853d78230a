"""paddle.nn.Transformer and paddle.nn.TransformerEncoder: separate projections, Linear weights [in, out]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model import NativeFile, PortedModel
from . import nn_transformer

CROSS = "cross_attn"


def recognize(native: NativeFile) -> bool:
    separate = any(name.endswith(".self_attn.q_proj.weight") for name in native.tensors)
    return separate and nn_transformer.prefix_of(native.tensors) is not None


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    return nn_transformer.read(native, settings, CROSS, transposed=True)


def write(model: PortedModel, format_name: str) -> NativeFile:
    nn_transformer.check_writable(model.config, "paddle.nn.Transformer")
    tensors = nn_transformer.native_tensors(model, model.weights, CROSS, transposed=True)
    optimizer = None
    if model.optimizer is not None and not nn_transformer.is_stand_in(model):
        optimizer = {"step": model.optimizer["step"]}
        for slot in ("m", "v"):
            moments = {n[2:]: a for n, a in model.optimizer.items() if n.startswith(f"{slot}.")}
            native = nn_transformer.native_tensors(model, moments, CROSS, transposed=True)
            optimizer |= {f"{slot}.{name}": array for name, array in native.items()}
    return NativeFile(format=format_name, tensors=tensors, optimizer=optimizer)
