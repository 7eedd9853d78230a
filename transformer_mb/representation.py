"""The text that a layer's ``repr`` shows beside its sub-layers, where the framework's own layers show such text."""

from __future__ import annotations

from typing import Any

SHOWN = (
    *("name", "p", "norm_shape", "eps", "kind", "num_heads", "num_kv_heads"),
    *("num_hiddens", "max_len", "layout", "label_smoothing", "normalization"),
)


def settings(layer: Any) -> str:
    """``norm_shape=(8,), eps=1e-05, kind='layer_norm'``: the sizes and choices that the layer itself keeps."""
    kept = {name: vars(layer)[name] for name in SHOWN if name in vars(layer)}
    return ", ".join(f"{name}={value!r}" for name, value in kept.items())
