"""Canonical names follow the structure: attributes name layers and variables, ``block{i}`` the layers of a list.

Keras keeps a Dense kernel as [in, out], the canonical layout is [out, in]. Shared variables count once, under the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf


class Parameter(NamedTuple):
    variable: keras.Variable
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        shape = tuple(self.variable.shape)
        return shape[::-1] if self.transposed else shape

    def canonical(self, value: tf.Tensor) -> np.ndarray:
        """The variable's own value, or a gradient or moment of it, as a canonical array."""
        array = to_numpy(value)
        return np.ascontiguousarray(array.T) if self.transposed else array

    def native(self, array: np.ndarray) -> np.ndarray:
        return array.T if self.transposed else array


def named_layers(layer: keras.layers.Layer, path: str = "") -> Iterator[tuple[str, keras.layers.Layer]]:
    """The layer itself and all below it, by canonical path."""
    yield path, layer
    prefix = f"{path}." if path else ""
    for name, value in vars(layer).items():
        if name.startswith("_"):
            continue
        if isinstance(value, keras.layers.Layer):
            yield from named_layers(value, prefix + name)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, keras.layers.Layer):
                    yield from named_layers(item, f"{prefix}{name}.block{i}")


def named_parameters(layer: keras.layers.Layer) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    seen = set()
    for path, sub in named_layers(layer):
        for name, parameter in _own_parameters(sub).items():
            if id(parameter.variable) not in seen:
                seen.add(id(parameter.variable))
                found[f"{path}.{name}" if path else name] = parameter
    return found


def _own_parameters(layer: keras.layers.Layer) -> dict[str, Parameter]:
    own = {name: Parameter(value) for name, value in vars(layer).items() if isinstance(value, keras.Variable)}
    if isinstance(layer, keras.layers.Dense):
        del own["_kernel"]
        return {"weight": Parameter(layer.kernel, transposed=True), **own}
    if isinstance(layer, keras.layers.Embedding):
        return {"weight": Parameter(layer.embeddings)}
    return own


def parameter_shapes(module: keras.layers.Layer) -> dict[str, tuple[int, ...]]:
    return {name: parameter.shape for name, parameter in named_parameters(module).items()}


def get_weights(module: keras.layers.Layer) -> dict[str, np.ndarray]:
    return {name: parameter.canonical(parameter.variable.value) for name, parameter in named_parameters(module).items()}


def assign_weights(module: keras.layers.Layer, weights: Mapping[str, np.ndarray]) -> None:
    for name, parameter in named_parameters(module).items():
        parameter.variable.assign(parameter.native(np.asarray(weights[name])))


def to_numpy(tensor: tf.Tensor | tf.Variable | tf.IndexedSlices) -> np.ndarray:
    """A copy on the host; NumPy has no bfloat16, so low precision comes as float32."""
    tensor = tf.convert_to_tensor(tensor)
    if tensor.dtype in (tf.bfloat16, tf.float16):
        tensor = tf.cast(tensor, tf.float32)
    return tensor.numpy().copy()
