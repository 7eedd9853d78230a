"""Programs compiled once for all modules built alike: modules as structure and arrays, and calls on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.machine.compilation_cache import compilation_cache

from ..attention import DotProductAttention
from ..weights import held_by, named_layers, named_parameters
from .compilation import compiled, is_small, platforms_of, seldom_on

_traced_since_counted = False


def keep_programs() -> None:
    """Have later processes load what this one compiles, unless JAX is set otherwise."""
    config: Any = jax.config
    if config.jax_compilation_cache_dir is None and (folder := compilation_cache("jax")) is not None:
        config.update("jax_compilation_cache_dir", str(folder))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


# JAX's names for what a trainer calls the precision of products; bfloat16 is the dtype of their factors, see ``linear``.
PRECISIONS = {"full": "highest", "bf16": "highest", "tf32": "tensorfloat32"}


@contextmanager
def product_precision(precision: str = "full") -> Iterator[None]:
    """Enclose what is traced: TF32 is the GPU's default for float32, and what a backend computes has all its digits."""
    global _traced_since_counted
    _traced_since_counted = True
    with jax.default_matmul_precision(PRECISIONS[precision]):
        yield


def leave_room() -> None:
    """Forget compiled programs before the process has too many; called where a new one may be compiled.

    XLA's CPU compiler takes about four memory maps a kernel, a thousand for a small model's training step. Linux
    allows 65,530, and at that limit the compiler crashes the process. A program that is still needed is compiled anew.
    """
    global _traced_since_counted
    if not _traced_since_counted:
        return
    _traced_since_counted = False
    try:
        limit = int(Path("/proc/sys/vm/max_map_count").read_text())
        used = Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:  # not Linux
        return
    if used > limit * 3 // 4:
        jax.clear_caches()


def at_least_float32(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Moments and their arithmetic: 0.999 is 1 in bfloat16."""
    return {name: array.astype(jnp.promote_types(array.dtype, jnp.float32)) for name, array in arrays.items()}


class Structure:
    """A module without its arrays, equal for modules built alike: what a compiled function is compiled for."""

    def __init__(self, module: nnx.Module):
        self.graphdef, state = nnx.split(module)
        self.state = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), state)
        leaves = jax.tree.leaves(state)
        self.seldom_on, self.on_cpu = seldom_on(leaves), platforms_of(leaves) == {"cpu"}
        self.hash = hash(self.graphdef)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self.graphdef == other.graphdef)

    def module(self, values: Mapping[str, Array]) -> Any:
        """The module with these parameters, by canonical name; random streams have no keys."""
        module = _merge(self.graphdef, self.state, values)
        for _, part in _attentions(module):
            part.attention_weights = nnx.data(None)
        return module


def _merge(graphdef: nnx.GraphDef, state: Any, values: Mapping[str, Array]) -> nnx.Module:
    # The map makes variables that belong to the current trace, and may be set in it.
    module = nnx.merge(graphdef, jax.tree.map(lambda leaf: leaf, state))
    for name, parameter in named_parameters(module).items():
        parameter.assign(values[name])
    return module


class _Known:
    """A module that was split, with the attributes that every module within had."""

    def __init__(self, module: nnx.Module):
        self.within = [vars(part) for _, part in named_layers(module)]
        self.attributes, self.counts = list(self._now()), list(map(len, self.within))
        self.structure, self.parameters = Structure(module), named_parameters(module)
        self.variables = [parameter.holder for parameter in self.parameters.values()]
        # What a variable gives is what it holds, unless it is a reference or has a hook.
        values, held = [parameter.value for parameter in self.parameters.values()], list(map(held_by, self.variables))
        self.kinds = set(map(type, held)) if all(map(operator.is_, values, held)) else None

    def _now(self) -> Iterator[Any]:
        return chain.from_iterable(map(dict.values, self.within))

    def holds(self) -> bool:
        """Tell whether every attribute is still the same object, and so every module within."""
        return list(map(len, self.within)) == self.counts and all(map(operator.is_, self._now(), self.attributes))

    def values(self) -> dict[str, Array]:
        """The parameters' arrays; to ask each variable takes as long as decoding a word of a small model."""
        held = list(map(held_by, self.variables))
        if set(map(type, held)) == self.kinds:
            return dict(zip(self.parameters, held, strict=True))
        return {name: parameter.value for name, parameter in self.parameters.items()}


_KNOWN: WeakKeyDictionary[nnx.Module, _Known] = WeakKeyDictionary()


def split(module: nnx.Module) -> tuple[Structure, dict[str, Array]]:
    """A module as its structure and its parameters by canonical name.

    nnx.split takes several times as long as decoding a short sentence; so it is repeated only when some attribute
    within the module is no longer the same object. Variables stay the same objects when their arrays change.
    """
    leave_room()
    known = _KNOWN.get(module)
    if known is None or not known.holds():
        known = _KNOWN[module] = _Known(module)
    return known.structure, known.values()


def evaluate(function: Callable[..., Any], module: nnx.Module, platform: str, arrays: Sequence[Any]) -> Any:
    """function(module, *arrays) in evaluation mode, the module being left as it is."""
    structure, values = split(module)
    return compiled(_evaluate, 2, platform, quickly=is_small(values.values()))(function, structure, values, *arrays)


def _evaluate(function: Callable[..., Any], structure: Structure, values: Mapping[str, Array], *arrays: Any) -> Any:
    model = structure.module(values)
    model.eval()
    with product_precision():
        return function(model, *arrays)


def call(layer: Any, inputs: Sequence[Any], options: Mapping[str, Any], platform: str) -> Any:
    """A layer, a layer's method or a function on arrays and numbers, compiled."""
    leave_room()
    function, module = bound(layer)
    arrays, static = _separate((inputs, options))
    _check_values(function, static, module, arrays)
    output, maps, streams = compiled(_call, 3, platform)(function, static, *nnx.split(module), arrays)
    if module is not None:
        nnx.update(module, streams)
        for path, part in _attentions(module):
            part.attention_weights = nnx.data(maps[path])
    return output


def _call(
    function: Callable[..., Any], static: tuple[Any, ...], graphdef: nnx.GraphDef, state: Any, arrays: Sequence[Array]
) -> tuple[Any, dict[str, Array | None], Any]:
    """The output, and what the call changed in the module: its attention weights by path, its random streams."""
    module = nnx.merge(graphdef, jax.tree.map(lambda leaf: leaf, state))
    output = _run(function, static, module, arrays)
    maps = {path: part.attention_weights for path, part in _attentions(module)}
    return output, maps, nnx.state(module, nnx.RngState)


def _attentions(module: Any) -> list[tuple[str, DotProductAttention]]:
    within = named_layers(module) if isinstance(module, nnx.Module) else ()
    return [(path, part) for path, part in within if isinstance(part, DotProductAttention)]


def differentiate(
    layer: Any, inputs: Sequence[Any], options: Mapping[str, Any], cotangent: Array, platform: str
) -> tuple[Array, dict[int, Array], dict[str, Array]]:
    """The first output, and the gradients of sum(output * cotangent) by id of the input and by name of the parameter."""
    leave_room()
    function, module = bound(layer)
    arrays, static = _separate((inputs, options))
    _check_values(function, static, module, arrays)
    compared = compiled(_differentiate, 3, platform)
    output, by_position, by_name, streams = compared(function, static, *nnx.split(module), arrays, cotangent)
    if module is not None:
        nnx.update(module, streams)
    return output, {id(arrays[i]): gradient for i, gradient in by_position.items()}, by_name


def bound(layer: Any) -> tuple[Callable[..., Any], nnx.Module | None]:
    """Return a layer as a function, and the module that it takes first."""
    if isinstance(layer, nnx.Module):
        return type(layer).__call__, layer
    owner = getattr(layer, "__self__", None)
    return (layer.__func__, owner) if isinstance(owner, nnx.Module) else (layer, None)


def _separate(tree: Any) -> tuple[list[Array], tuple[Any, ...]]:
    """The arrays of a nesting, and the rest: numbers and switches that a program is compiled for."""
    leaves, structure = jax.tree.flatten(tree)
    constants = tuple(None if isinstance(leaf, Array) else leaf for leaf in leaves)
    return [leaf for leaf in leaves if isinstance(leaf, Array)], (structure, constants)


def _run(function: Callable[..., Any], static: tuple[Any, ...], module: nnx.Module | None, arrays: Sequence[Array]) -> Any:
    structure, constants = static
    remaining = iter(arrays)
    leaves = [next(remaining) if constant is None else constant for constant in constants]
    inputs, options = jax.tree.unflatten(structure, leaves)
    with product_precision():
        return function(*(() if module is None else (module,)), *inputs, **options)


def _check_values(
    function: Callable[..., Any], static: tuple[Any, ...], module: nnx.Module | None, arrays: Sequence[Array]
) -> None:
    """Have the layer refuse ids and lengths out of range, as it does when called eagerly.

    What is compiled sees shapes alone. So the layer is traced once more, on the arrays themselves, and nothing is computed.
    """
    if all(array.ndim > 2 for array in arrays):  # ids are [B, T], lengths [B] or [B, T]
        return
    graphdef, state = (None, None) if module is None else nnx.split(module)

    def run(state: Any) -> None:
        _run(function, static, None if graphdef is None else nnx.merge(graphdef, state), arrays)

    jax.eval_shape(run, state)


def _differentiate(
    function: Callable[..., Any],
    static: tuple[Any, ...],
    graphdef: nnx.GraphDef,
    state: Any,
    arrays: Sequence[Array],
    cotangent: Array,
) -> tuple[Array, dict[int, Array], dict[str, Array], Any]:
    """Return what ``differentiate`` does, by position of the input, and what the call changed in the module: random streams."""
    floats = {i: array for i, array in enumerate(arrays) if jnp.issubdtype(array.dtype, jnp.floating)}

    def run(values: dict[str, Array], floats: dict[int, Array]) -> tuple[Array, Any]:
        module = _merge(graphdef, state, values)
        output = _run(function, static, module, [floats.get(i, array) for i, array in enumerate(arrays)])
        return output[0] if isinstance(output, tuple) else output, nnx.state(module, nnx.RngState)

    values = {name: parameter.value for name, parameter in named_parameters(nnx.merge(graphdef, state)).items()}
    output, pull_back, streams = jax.vjp(run, values, floats, has_aux=True)
    by_name, by_position = pull_back(cotangent.astype(output.dtype))
    return output, by_position, by_name, streams
