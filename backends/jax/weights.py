"""Canonical names from nnx attribute names; shared variables count once, under the first."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.native_parameters import NativeParameter

# What nnx calls the weight of a Linear, an Embed and a norm.
NAMES = {"kernel": "weight", "embedding": "weight", "scale": "weight"}
# Attributes visited last: their shared variables are named after the encoder and the embedding.
LAST = ("decoder", "dense")

# What a variable holds: an array, or a reference to one. The method is newer than flax 0.12.0.
held_by: Callable[[nnx.Variable], Any] = (
    operator.methodcaller("get_raw_value") if hasattr(nnx.Variable, "get_raw_value") else operator.attrgetter("raw_value")
)


class Parameter(NativeParameter):
    @property
    def value(self) -> Array:
        # ``get_value`` and ``set_value`` are newer than flax 0.12.0, and where they are, ``.value`` is deprecated.
        return self.holder.get_value() if hasattr(nnx.Variable, "get_value") else self.holder.value

    @staticmethod
    def to_numpy(tensor: Array) -> np.ndarray:
        low = tensor.dtype in (jnp.bfloat16, jnp.float16)  # NumPy has no bfloat16
        return np.array(tensor, np.float32 if low else tensor.dtype, copy=True)

    def from_numpy(self, array: np.ndarray) -> Array:
        return array_like(array, self.value)

    def assign(self, tensor: Array) -> None:
        if hasattr(nnx.Variable, "set_value"):
            self.holder.set_value(tensor)
        else:
            self.holder.value = tensor


def array_like(array: np.ndarray, like: Array) -> Array:
    """A copy, made by NumPy: on the CPU JAX may share the memory of its argument, and has a program to compile for a copy
    of each shape. In a trace, such as that of nnx.eval_shape, there is no place yet."""
    place = None if isinstance(like, jax.core.Tracer) else like.sharding
    return jax.device_put(np.array(array, like.dtype), place)


def named_layers(module: nnx.Module) -> Iterator[tuple[str, nnx.Module]]:
    """Every module within, itself first, by canonical path; each once."""
    yield from _walk(module, "", set())


def _walk(module: nnx.Module, path: str, seen: set[int]) -> Iterator[tuple[str, nnx.Module]]:
    if id(module) in seen:
        return
    seen.add(id(module))
    yield path, module
    children = {name: child for name, child in vars(module).items() if isinstance(child, nnx.Module)}
    for name in sorted(children, key=lambda name: name in LAST):
        part = f"block{name}" if isinstance(module, nnx.List) else name
        yield from _walk(children[name], f"{path}.{part}" if path else part, seen)


def named_parameters(module: Any) -> dict[str, Parameter]:
    """Every parameter by canonical name; plain functions have none."""
    parameters: dict[str, Parameter] = {}
    seen: set[int] = set()
    for path, owner in named_layers(module) if isinstance(module, nnx.Module) else ():
        for name, variable in vars(owner).items():
            if isinstance(variable, nnx.Param) and id(variable) not in seen:
                seen.add(id(variable))
                full_name = f"{path}.{NAMES.get(name, name)}" if path else NAMES.get(name, name)
                parameters[full_name] = Parameter(variable, transposed=name == "kernel")
    return parameters
