"""Subjects written in JAX: modules of flax linen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen
from flax.traverse_util import flatten_dict, unflatten_dict

from . import flax as nnx_adapter
from .adapter import Call, Tap

PARAMETERS = "params"


class Linen(nnx_adapter.Flax):
    """A module and its variables by collection; what linen intercepts is the tap. Arrays are as those of nnx."""

    def build(self, first: Callable[[], Call]) -> Any:
        self._begin()
        self.built = module = self.made()
        self.traced = {}
        call = first()
        keys = {name: jax.random.key(0) for name in (PARAMETERS, "dropout")}
        method = getattr(type(module), self.subject.settings.get("method", "__call__"))
        variables = jax.jit(lambda: module.init(keys, *call.arguments, **call.keywords, method=method))()
        self.flat = dict(flatten_dict(flax.core.unfreeze(variables)))
        self.paths = {_named(path): path for path, leaf in self.flat.items() if jnp.issubdtype(leaf.dtype, jnp.floating)}
        for path in self.paths.values():
            self.flat[path] = self.flat[path].astype(self.dtype)
        self.run = self._applied if not self.is_compiled else jax.jit(self._applied, static_argnums=1)
        self.module, self.method = module, method
        return module

    def weights(self) -> dict[str, np.ndarray]:
        return {name: nnx_adapter.to_numpy(self.flat[path]) for name, path in self.paths.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        self._begin()
        for name, value in arrays.items():
            self.flat[self.paths[name]] = jnp.asarray(value, self.dtype)

    def modules(self) -> list[str]:
        inner = {".".join(path[1:end]) for path in self.paths.values() for end in range(2, len(path))}
        return ["", *sorted(inner)]

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        self._begin()

        def tapped(then: Callable[..., Any], arguments: Any, keywords: Any, context: Any) -> Any:
            path = ".".join(context.module.path)
            if tap is None or not path or context.method_name != "__call__":
                return then(*arguments, **keywords)
            given, named = tap.enter(path, arguments, keywords)
            return tap.leave(path, then(*given, **named))

        arrays, constants = nnx_adapter.apart(call)
        with linen.intercept_methods(tapped) if tap is not None else ExitStack():
            return self.run((self._arrays() | self.traced, arrays), constants)

    def _applied(self, given: tuple[dict[str, Any], dict[Any, Any]], constants: tuple[Any, ...]) -> Any:
        values, arrays = given
        call = nnx_adapter.together(arrays, constants)
        flat = self.flat | {self.paths[name]: value for name, value in values.items()}
        return self.module.apply(unflatten_dict(flat), *call.arguments, **call.keywords, method=self.method)

    def _arrays(self) -> dict[str, Any]:
        return {name: self.flat[path] for name, path in self.paths.items()}

    def _is_trained(self, name: str) -> bool:
        return bool(self.paths[name][0] == PARAMETERS)


def _named(path: tuple[str, ...]) -> str:
    """Return a name: that of a collection other than the parameters stands last, so that it begins with its module's path."""
    collection, *rest = path
    return ".".join(rest if collection == PARAMETERS else [*rest, f"({collection})"])


ADAPTER = Linen
