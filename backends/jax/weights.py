"""Canonical names from nnx attribute names; shared variables count once, under the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

# What nnx calls the weight of a Linear, an Embed and a norm.
NAMES = {"kernel": "weight", "embedding": "weight", "scale": "weight"}
# Attributes visited last: their shared variables are named after the encoder and the embedding.
LAST = ("decoder", "dense")


class Parameter(NamedTuple):
    """A variable, and whether it is a kernel [in, out], whose canonical layout is [out, in]."""

    variable: nnx.Param
    transposed: bool

    @property
    def value(self) -> Array:
        # ``get_value`` and ``set_value`` are newer than flax 0.12.0, and where they are, ``.value`` is deprecated.
        return self.variable.get_value() if hasattr(nnx.Variable, "get_value") else self.variable.value

    def set(self, value: Array) -> None:
        if hasattr(nnx.Variable, "set_value"):
            self.variable.set_value(value)
        else:
            self.variable.value = value

    def layout(self, array: Any) -> Any:
        """From the canonical layout to nnx's, or back."""
        return array.T if self.transposed else array


def named_modules(module: nnx.Module) -> Iterator[tuple[str, nnx.Module]]:
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


def parameters(module: Any) -> dict[str, Parameter]:
    """Canonical name to variable; functions have none."""
    found: dict[str, Parameter] = {}
    seen: set[int] = set()
    for path, owner in named_modules(module) if isinstance(module, nnx.Module) else ():
        for name, variable in vars(owner).items():
            if isinstance(variable, nnx.Param) and id(variable) not in seen:
                seen.add(id(variable))
                full_name = f"{path}.{NAMES.get(name, name)}" if path else NAMES.get(name, name)
                found[full_name] = Parameter(variable, name == "kernel")
    return found


def parameter_shapes(module: nnx.Module) -> dict[str, tuple[int, ...]]:
    return {name: parameter.layout(parameter.value).shape for name, parameter in parameters(module).items()}


def get_weights(module: nnx.Module) -> dict[str, np.ndarray]:
    return {name: parameter.layout(to_numpy(parameter.value)) for name, parameter in parameters(module).items()}


def assign_weights(module: nnx.Module, weights: Mapping[str, np.ndarray]) -> None:
    for name, parameter in parameters(module).items():
        old = parameter.value
        parameter.set(jax.device_put(from_numpy(parameter.layout(weights[name]), old.dtype), old.sharding))


def from_numpy(array: np.ndarray, dtype: Any) -> Array:
    """A copy: JAX on the CPU may else share the memory of an array, which a donated buffer would overwrite."""
    return jnp.array(array, dtype, copy=True)


def to_numpy(array: Array) -> np.ndarray:
    """A copy on the host; NumPy has no bfloat16, so low precision comes as float32."""
    low = array.dtype in (jnp.bfloat16, jnp.float16)
    return np.array(array, np.float32 if low else array.dtype, copy=True)


def at_least_float32(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Moments and their arithmetic: 0.999 is 1 in bfloat16."""
    return {name: array.astype(jnp.promote_types(array.dtype, jnp.float32)) for name, array in arrays.items()}
