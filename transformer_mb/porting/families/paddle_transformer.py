"""paddle.nn.Transformer and paddle.nn.TransformerEncoder: separate projections, Linear weights [in, out]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model import NativeFile, PortedModel
from . import nn_transformer
from .stack_layout import stems_of

STACKS = nn_transformer.Stacks(title="paddle.nn.Transformer", cross="cross_attn", transposed=True)


def recognize(native: NativeFile) -> bool:
    separate = any(name.endswith(".self_attn.q_proj.weight") for name in native.tensors)
    return separate and bool(stems_of(native.tensors))


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    return nn_transformer.read(native, settings, STACKS)


def write(model: PortedModel, format_name: str, settings: Mapping[str, Any]) -> NativeFile:
    return nn_transformer.write(model, format_name, STACKS)
