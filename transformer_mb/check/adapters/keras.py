"""Subjects written in Keras 3, on TensorFlow, JAX or PyTorch."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import keras
import numpy as np

from ..optimizers import Optimizer
from .adapter import Adapter, Call, Gradients, Mask, Tap


class Keras(Adapter):
    """A layer or a model; the tap stands around the ``call`` of its layers."""

    dtypes = ("float64", "float32", "bfloat16", "float16")
    calls = "call"

    @staticmethod
    def version() -> str:
        backend = importlib.import_module(keras.backend.backend())
        return f"{keras.__version__} on {keras.backend.backend()} {backend.__version__}"

    def build(self, first: Callable[[], Call]) -> Any:
        _begin(self.dtype, self.subject.settings.get("device"))
        keras.utils.clear_session()  # names are numbered from the beginning
        keras.config.set_floatx(self.dtype)
        keras.config.set_dtype_policy(self.dtype)
        keras.utils.set_random_seed(0)
        built = self.made()
        self.layer = built if isinstance(built, keras.layers.Layer) else None
        self.built, self.compiled = built, None
        call = first()
        with self._scope():
            self.entry(built)(*call.arguments, **call.keywords)  # which makes its weights
        self.variables = self._variables()
        if self.is_compiled:
            self.compiled = COMPILERS[keras.backend.backend()](self.entry(built))
        return built

    def _scope(self) -> Any:
        name = self.subject.settings.get("device", "cpu").replace("cuda", "gpu")
        return keras.device(name if ":" in name else f"{name}:0")

    def _variables(self) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for variable in [] if self.layer is None else self.layer.weights:
            if "float" in variable.dtype:
                name = plain = self._path(variable.path)
                while name in named:
                    name = f"{plain}_{len(named)}"
                named[name] = variable
        return named

    def _path(self, path: str | None) -> str:
        """Return a path inside the whole, whose own name is not its."""
        assert self.layer is not None
        return (path or "").removeprefix(f"{self.layer.name}/").replace("/", ".")

    def _layers(self) -> dict[str, Any]:
        inner = [] if self.layer is None else self.layer._flatten_layers(include_self=False)
        return {self._path(layer.path or layer.name): layer for layer in inner}

    def weights(self) -> dict[str, np.ndarray]:
        return {name: _numpy(variable.value) for name, variable in self.variables.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        for name, value in arrays.items():
            self.variables[name].assign(self.array(value))

    def modules(self) -> list[str]:
        return [""] if self.is_compiled else ["", *self._layers()]

    def array(self, value: np.ndarray) -> Any:
        _begin(self.dtype, self.subject.settings.get("device"))
        with self._scope():
            return keras.ops.convert_to_tensor(value, self.dtype if value.dtype.kind == "f" else None)

    def numpy(self, value: Any) -> np.ndarray | None:
        return _numpy(value) if keras.ops.is_tensor(value) else None

    def is_float(self, value: Any) -> bool:
        return keras.ops.is_tensor(value) and "float" in keras.backend.standardize_dtype(value.dtype)

    def dtype_of(self, value: Any) -> str:
        return str(keras.backend.standardize_dtype(value.dtype))

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        _begin(self.dtype, self.subject.settings.get("device"))
        keras.config.set_floatx(self.dtype)
        with self._scope(), _tapped(self._layers(), tap) if tap is not None else ExitStack():
            run = self.compiled if self.compiled is not None and tap is None else self.entry(self.built)
            training = {"training": True} if self.subject.settings.get("training") else {}
            return run(*call.arguments, **call.keywords, **training)

    @contextmanager
    def dropping(self, mask: Mask) -> Iterator[None]:
        """Stand in for the function of the backend that layers drop by."""

        def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
            return inputs * self.array(mask(noise_shape or inputs.shape, rate).astype(np.float64)) / (1.0 - rate)

        with mock.patch.object(keras.src.backend.random, "dropout", dropout):
            yield

    def steps(self, optimizer: Optimizer, gradients: Sequence[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        variables = {name: keras.Variable(self.variables[name].value, dtype=self.dtype, name=name) for name in gradients[0]}
        own = optimizer.made(OPTIMIZERS)
        own.build(list(variables.values()))
        for step in gradients:
            own.apply([self.array(step[name]) for name in variables])
            yield {name: _numpy(variable.value) for name, variable in variables.items()}

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        trained = {name: one for name, one in self.variables.items() if one.trainable}
        outputs, by_leaf, by_name = DIFFERENTIATED[keras.backend.backend()](
            function, leaves, list(trained.values()), cotangents
        )
        return Gradients(outputs, by_leaf, dict(zip(trained, by_name, strict=True)))


def _numpy(value: Any) -> np.ndarray:
    array = np.array(keras.ops.convert_to_numpy(value))
    return array.astype(np.float32) if array.dtype.name in ("bfloat16", "float16") else array


def _begin(dtype: str, device: str | None) -> None:
    """Tell JAX which it is: it has float64 only when asked."""
    if keras.backend.backend() == "jax":
        import jax

        if device is None:
            jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", dtype == "float64")


@contextmanager
def _tapped(layers: dict[str, Any], tap: Tap) -> Iterator[None]:
    def wrapped(path: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*arguments: Any, **keywords: Any) -> Any:
            given, named = tap.enter(path, arguments, keywords)
            return tap.leave(path, original(*given, **named))

        return call

    for path, layer in layers.items():
        object.__setattr__(layer, "call", wrapped(path, layer.call))
    try:
        yield
    finally:
        for layer in layers.values():
            object.__delattr__(layer, "call")


def _by_tensorflow(function: Any, leaves: list[Any], variables: list[Any], cotangents: Any) -> Any:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(leaves)
        outputs = function(leaves)
    found = tape.gradient(outputs, [*leaves, *(one.value for one in variables)], output_gradients=cotangents(outputs))
    found = [None if one is None else tf.convert_to_tensor(one) for one in found]
    return outputs, found[: len(leaves)], found[len(leaves) :]


def _by_jax(function: Any, leaves: list[Any], variables: list[Any], cotangents: Any) -> Any:
    import jax

    def traced(leaves: list[Any], values: list[Any]) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(leaves)

    outputs, backward = jax.vjp(traced, leaves, [one.value for one in variables])
    seeds = [one.astype(output.dtype) for one, output in zip(cotangents(outputs), outputs, strict=True)]
    return outputs, *backward(seeds)


def _by_torch(function: Any, leaves: list[Any], variables: list[Any], cotangents: Any) -> Any:
    import torch

    leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    with torch.enable_grad():
        outputs = function(leaves)
        pairs = [(output, one) for output, one in zip(outputs, cotangents(outputs), strict=True) if output.requires_grad]
        heads, seeds = [output for output, _ in pairs], [one.to(output.dtype) for output, one in pairs]
        found = torch.autograd.grad(heads, [*leaves, *(one.value for one in variables)], seeds, allow_unused=True)
    return outputs, list(found[: len(leaves)]), list(found[len(leaves) :])


def _compiled_by_tensorflow(function: Any) -> Any:
    import tensorflow as tf

    return tf.function(function, jit_compile=True)


def _compiled_by_jax(function: Any) -> Any:
    import jax

    return jax.jit(function)


def _compiled_by_torch(function: Any) -> Any:
    import torch

    return torch.compile(function)


DIFFERENTIATED = {"tensorflow": _by_tensorflow, "jax": _by_jax, "torch": _by_torch}
COMPILERS = {"tensorflow": _compiled_by_tensorflow, "jax": _compiled_by_jax, "torch": _compiled_by_torch}
OPTIMIZERS = {
    "sgd": lambda o: keras.optimizers.SGD(o["learning_rate"], o["momentum"]),
    "adam": lambda o: keras.optimizers.Adam(o["learning_rate"], o["beta1"], o["beta2"], o["epsilon"]),
    "adamw": lambda o: keras.optimizers.AdamW(o["learning_rate"], o["weight_decay"], o["beta1"], o["beta2"], o["epsilon"]),
}
ADAPTER = Keras
