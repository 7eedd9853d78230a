"""Subjects written in NumPy: an object with arrays as attributes, or a function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .adapter import Adapter, Call, Gradients, Tap

INSIDE = (list, tuple)


class Numpy(Adapter):
    """An object that computes forward alone: nothing here differentiates it."""

    differentiates = False

    @staticmethod
    def version() -> str:
        return np.__version__

    def build(self, first: Callable[[], Call]) -> Any:
        built = self.made()
        self.places: dict[str, tuple[Any, Any]] = {}
        self._find(built, "", set())
        for name, value in self.weights().items():
            self.set_weights({name: value})
        return built

    def _find(self, owner: Any, path: str, seen: set[int]) -> None:
        """Find the float arrays of an object, of its lists and dictionaries, and of what it is made of."""
        if id(owner) in seen:
            return
        seen.add(id(owner))
        items: Any = owner.items() if isinstance(owner, dict) else enumerate(owner) if isinstance(owner, INSIDE) else None
        if items is None:
            items = vars(owner).items() if hasattr(owner, "__dict__") and not callable(getattr(owner, "__get__", None)) else ()
        for key, value in list(items):
            name = f"{path}.{key}" if path else str(key)
            if isinstance(value, np.ndarray):
                if value.dtype.kind == "f" and id(value) not in seen:
                    seen.add(id(value))
                    self.places[name] = (owner, key)
            elif not isinstance(value, str | bytes | int | float | complex | type(None) | type):
                self._find(value, name, seen)

    def weights(self) -> dict[str, np.ndarray]:
        return {name: np.array(_get(owner, key)) for name, (owner, key) in self.places.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        for name, value in arrays.items():
            owner, key = self.places[name]
            if isinstance(owner, dict | list):
                owner[key] = value.astype(self.dtype)
            else:
                setattr(owner, key, value.astype(self.dtype))

    def modules(self) -> list[str]:
        return [""]

    def array(self, value: np.ndarray) -> Any:
        return value.astype(self.dtype) if value.dtype.kind == "f" else value.copy()

    def numpy(self, value: Any) -> np.ndarray | None:
        return np.array(value) if isinstance(value, np.ndarray | np.generic) else None

    def dtype_of(self, value: Any) -> str:
        return str(value.dtype)

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        target = self.entry(self.built)
        return (target if callable(target) else target.forward)(*call.arguments, **call.keywords)

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        raise NotImplementedError("A subject in NumPy is not differentiated.")


def _get(owner: Any, key: Any) -> Any:
    return owner[key] if isinstance(owner, dict | list | tuple) else getattr(owner, key)


ADAPTER = Numpy
