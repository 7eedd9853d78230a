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


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none."""
    parameters: dict[str, Parameter] = {}
    seen = set()
    for path, layer in named_layers(module) if isinstance(module, keras.layers.Layer) else ():
        for name, parameter in _own_parameters(layer).items():
            if id(parameter.holder) not in seen:
                seen.add(id(parameter.holder))
                parameters[f"{path}.{name}" if path else name] = parameter
    return parameters


def _own_parameters(layer: keras.layers.Layer) -> dict[str, Parameter]:
    own = {name: Parameter(value) for name, value in vars(layer).items() if isinstance(value, keras.Variable)}
    if isinstance(layer, keras.layers.Dense):
        del own["_kernel"]
        return {"weight": Parameter(layer.kernel, transposed=True), **own}
    if isinstance(layer, keras.layers.Embedding):
        return {"weight": Parameter(layer.embeddings)}
    return own
