"""Canonical names follow the structure: attributes name layers and variables, ``block{i}`` the layers of a list.

Keras keeps a Dense kernel as [in, out], the canonical layout is [out, in]. Shared variables count once, under the first.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.native_parameters import NativeParameter


class Parameter(NativeParameter):
    @property
    def value(self) -> tf.Variable:
        return self.holder.value

    @property
    def trained(self) -> bool:
        return self.holder.trainable

    @staticmethod
    def to_numpy(tensor: tf.Tensor | tf.Variable | tf.IndexedSlices) -> np.ndarray:
        tensor = tf.convert_to_tensor(tensor)
        if tensor.dtype in (tf.bfloat16, tf.float16):
            tensor = tf.cast(tensor, tf.float32)  # NumPy has no bfloat16
        return tensor.numpy().copy()

    def from_numpy(self, array: np.ndarray) -> tf.Tensor:
        return tf.cast(array, self.value.dtype)

    def assign(self, tensor: tf.Tensor) -> None:
        self.holder.assign(tensor)


def named_layers(layer: keras.layers.Layer, path: str = "") -> list[tuple[str, keras.layers.Layer]]:
    """The layer itself and all below it, by canonical path. No generator: decoding asks at each call."""
    found = [(path, layer)]
    prefix = f"{path}." if path else ""
    for name, value in vars(layer).items():
        if name[0] == "_":
            continue
        if isinstance(value, keras.layers.Layer):
            found += named_layers(value, prefix + name)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, keras.layers.Layer):
                    found += named_layers(item, f"{prefix}{name}.block{i}")
    return found


class _Merged(Parameter):
    """The weight of a layer after Keras' ``enable_lora``: the sum that the layer computes with, as in Keras' own files."""

    def __init__(self, layer: Any, name: str, transposed: bool):
        super().__init__(getattr(layer, f"_{name}"), transposed)
        self.layer, self.name = layer, name

    @property
    def value(self) -> tf.Tensor:
        return tf.convert_to_tensor(getattr(self.layer, self.name))

    def assign(self, tensor: tf.Tensor) -> None:
        factor = getattr(self.layer, f"lora_{self.name}_b")
        factor.assign(tf.zeros_like(factor))  # the sum is now the weight alone
        self.holder.assign(tensor)


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none. What ``enable_lora`` added is part of its weight."""
    return _found(module, merged=True)


def named_variables(module: Any) -> dict[str, Parameter]:
    """The same, but of a layer with LoRA the weight and its factors each by itself: what gradients are taken of."""
    return _found(module, merged=False)


def _found(module: Any, merged: bool) -> dict[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    seen = set()
    for path, layer in named_layers(module) if isinstance(module, keras.layers.Layer) else ():
        for name, parameter in _own_parameters(layer, merged).items():
            if id(parameter.holder) not in seen:
                seen.add(id(parameter.holder))
                parameters[f"{path}.{name}" if path else name] = parameter
    return parameters


def _own_parameters(layer: keras.layers.Layer, merged: bool) -> dict[str, Parameter]:
    own = {name: Parameter(value) for name, value in vars(layer).items() if isinstance(value, keras.Variable)}
    for kind, name in ((keras.layers.Dense, "kernel"), (keras.layers.Embedding, "embeddings")):
        if isinstance(layer, kind):
            transposed = name == "kernel"
            weight = Parameter(own.pop(f"_{name}").holder, transposed)
            if merged and layer.lora_enabled:
                weight = _Merged(layer, name, transposed)
                own = {other: parameter for other, parameter in own.items() if not other.startswith("lora_")}
            return {"weight": weight, **own}
    return own
