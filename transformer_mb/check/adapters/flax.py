"""Subjects written in JAX: modules of flax nnx, and plain functions of JAX arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from ..optimizers import Optimizer
from .adapter import Adapter, Call, Gradients, Mask, Tap


class Flax(Adapter):
    """A module split into its graph and its arrays; the tap stands around ``__call__`` of its modules' classes."""

    dtypes = ("float64", "float32", "bfloat16", "float16")

    @staticmethod
    def version() -> str:
        return f"{jax.__version__} with flax {flax.__version__}"

    def build(self, first: Callable[[], Call]) -> Any:
        self._begin()
        built = self.made(rngs=nnx.Rngs(0))
        self.graph: Any = None
        self.traced: dict[str, Any] = {}  # weights that are differentiated now, in the places of those in the state
        self.state: dict[tuple[Any, ...], Any] = {}
        if isinstance(built, nnx.Module):
            built.train() if self.subject.settings.get("training") else built.eval()
            self.graph, state = nnx.split(built)
            self.state = dict(nnx.to_flat_state(state))
            self.floats = {".".join(map(str, path)): path for path, leaf in self.state.items() if _is_float(leaf)}
            for path in self.floats.values():
                self.state[path] = self.state[path].replace(jnp.asarray(_value(self.state[path]), self.dtype))
        else:
            self.floats = {}
        self.jitted = jax.jit(self._applied, static_argnums=1) if self.is_compiled else None
        return built

    def _begin(self) -> None:
        """Choose the device, and whether JAX has float64 at all: a user of float32 has not."""
        if "device" not in self.subject.settings:
            jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", self.dtype == "float64")

    def weights(self) -> dict[str, np.ndarray]:
        return {name: to_numpy(_value(self.state[path])) for name, path in self.floats.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        self._begin()
        for name, value in arrays.items():
            path = self.floats[name]
            self.state[path] = self.state[path].replace(jnp.asarray(value, self.dtype))

    def modules(self) -> list[str]:
        if self.graph is None or self.is_compiled:
            return [""]
        paths = [".".join(map(str, path)) for path, _ in self._merged({}).iter_modules()]
        return ["", *(path for path in paths if path)]

    def _merged(self, values: dict[str, Any]) -> Any:
        """Return a module with these arrays in the places of its own; new, since a trace may not change what is outside it."""
        given = {self.floats[name]: self.state[self.floats[name]].replace(one) for name, one in values.items()}
        return nnx.merge(self.graph, nnx.from_flat_state({**self.state, **given}.items()), copy=True)

    def array(self, value: np.ndarray) -> Any:
        self._begin()
        return jnp.asarray(value, self.dtype if value.dtype.kind == "f" else None)

    def numpy(self, value: Any) -> np.ndarray | None:
        return to_numpy(value) if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) else None

    def is_float(self, value: Any) -> bool:
        return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)

    def dtype_of(self, value: Any) -> str:
        return str(value.dtype)

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        self._begin()
        if self.jitted is not None:
            arrays, constants = apart(call)
            return self.jitted((self._arrays() | self.traced, arrays), constants)
        if self.graph is None:
            return self.entry(self.built)(*call.arguments, **call.keywords)
        module = self._merged(self.traced)
        with _tapped(module, tap) if tap is not None else ExitStack():
            return self.entry(module)(*call.arguments, **call.keywords)

    def _applied(self, given: tuple[dict[str, Any], dict[Any, Any]], constants: tuple[Any, ...]) -> Any:
        values, arrays = given
        call = together(arrays, constants)
        target = self.built if self.graph is None else self._merged(values)
        return self.entry(target)(*call.arguments, **call.keywords)

    def _arrays(self) -> dict[str, Any]:
        return {name: _value(self.state[path]) for name, path in self.floats.items()}

    @contextmanager
    def dropping(self, mask: Mask) -> Iterator[None]:
        """Stand in for the random booleans that all dropout in JAX draws."""

        def bernoulli(key: Any, p: float = 0.5, shape: tuple[int, ...] | None = None, **more: Any) -> Any:
            return jnp.asarray(mask(shape or (), 1.0 - float(p)))

        with mock.patch.object(jax.random, "bernoulli", bernoulli):
            yield

    def steps(self, optimizer: Optimizer, gradients: Sequence[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        self._begin()
        weights = {name: self._arrays()[name] for name in gradients[0]}
        own = optimizer.made(OPTIMIZERS)
        state = own.init(weights)
        for step in gradients:
            updates, state = own.update({name: jnp.asarray(one, self.dtype) for name, one in step.items()}, state, weights)
            weights = optax.apply_updates(weights, updates)
            yield {name: to_numpy(one) for name, one in weights.items()}

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        self._begin()
        trained = {name: one for name, one in self._arrays().items() if self._is_trained(name)}

        def traced(leaves: list[Any], values: dict[str, Any]) -> list[Any]:
            self.traced = values
            return function(leaves)

        try:
            outputs, backward = jax.vjp(traced, leaves, trained)
        finally:
            self.traced = {}
        seeds = [one.astype(output.dtype) for one, output in zip(cotangents(outputs), outputs, strict=True)]
        by_leaf, by_name = backward(seeds)
        return Gradients(outputs, list(by_leaf), dict(by_name))

    def _is_trained(self, name: str) -> bool:
        return isinstance(self.state[self.floats[name]], nnx.Param)


def _value(leaf: Any) -> Any:
    return leaf[...] if isinstance(leaf, nnx.Variable) else leaf


def _is_float(leaf: Any) -> bool:
    value = _value(leaf)
    return not isinstance(leaf, nnx.RngState) and hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jnp.floating)


def to_numpy(value: Any) -> np.ndarray:
    two_bytes = value.dtype in (jnp.bfloat16, jnp.float16)
    return np.array(value.astype(jnp.float32) if two_bytes else value)


def apart(call: Call) -> tuple[dict[Any, Any], tuple[Any, ...]]:
    """Return the arrays of a call by place, and what is none, which a compiled function is made for."""
    every: dict[Any, Any] = {**dict(enumerate(call.arguments)), **call.keywords}
    arrays = {str(place): value for place, value in every.items() if isinstance(value, jax.Array)}
    return arrays, tuple((place, value) for place, value in every.items() if not isinstance(value, jax.Array))


def together(arrays: dict[Any, Any], constants: tuple[Any, ...]) -> Call:
    every: dict[Any, Any] = {
        **{int(place) if place.isdigit() else place: value for place, value in arrays.items()},
        **dict(constants),
    }
    positions = sorted(place for place in every if isinstance(place, int))
    return Call(tuple(every[place] for place in positions), {k: v for k, v in every.items() if isinstance(k, str)})


@contextmanager
def _tapped(module: Any, tap: Tap) -> Iterator[None]:
    """Let each call of a module inside go through the tap. Classes are patched, since Python looks up ``__call__`` there."""
    paths = {id(one): ".".join(map(str, path)) for path, one in module.iter_modules() if path}
    kinds = {type(one) for path, one in module.iter_modules() if path and callable(one)}

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
            path = paths.pop(id(self), None)  # a class whose base is wrapped too comes by twice
            if path is None:
                return original(self, *arguments, **keywords)
            try:
                given, named = tap.enter(path, arguments, keywords)
                return tap.leave(path, original(self, *given, **named))
            finally:
                paths[id(self)] = path

        return call

    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(mock.patch.object(kind, "__call__", wrapped(kind.__call__)))
        yield


OPTIMIZERS = {
    "sgd": lambda o: optax.sgd(o["learning_rate"], o["momentum"]),
    "adam": lambda o: optax.adam(o["learning_rate"], o["beta1"], o["beta2"], o["epsilon"]),
    "adamw": lambda o: optax.adamw(o["learning_rate"], o["beta1"], o["beta2"], o["epsilon"], weight_decay=o["weight_decay"]),
}
ADAPTER = Flax
