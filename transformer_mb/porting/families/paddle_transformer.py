"""paddle.nn.Transformer and paddle.nn.TransformerEncoder: separate projections, Linear weights [in, out]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ported import NativeFile, PortedModel
from . import stacks

CROSS = "cross_attn"


def recognize(native: NativeFile) -> bool:
    separate = any(name.endswith(".self_attn.q_proj.weight") for name in native.tensors)
    return separate and stacks.prefix_of(native.tensors) is not None


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    return stacks.read(native, settings, CROSS, transposed=True)


def write(model: PortedModel, format_name: str) -> NativeFile:
    stacks.check_writable(model.config, "paddle.nn.Transformer")
    tensors = stacks.native_tensors(model, model.weights, CROSS, transposed=True)
    optimizer = None
    if model.optimizer is not None and not stacks.is_stand_in(model):
        optimizer = {"step": model.optimizer["step"]}
        for slot in ("m", "v"):
            moments = {n[2:]: a for n, a in model.optimizer.items() if n.startswith(f"{slot}.")}
            native = stacks.native_tensors(model, moments, CROSS, transposed=True)
            optimizer |= {f"{slot}.{name}": array for name, array in native.items()}
    return NativeFile(format=format_name, tensors=tensors, optimizer=optimizer)
