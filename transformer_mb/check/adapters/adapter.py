"""The interface of each framework's adapter; its own file says only what is particular to it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..optimizers import Optimizer
from ..references import found, parameters_of, signature_of
from ..subjects import Subject

Mask = Callable[[Sequence[int], float], np.ndarray]


class Tap:
    """A look into a running model: each module's arguments and outputs go through it, and it may exchange them.

    This one changes nothing.
    """

    def enter(self, path: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what the module at a path is called with; the path of the whole is empty."""
        return arguments, keywords

    def leave(self, path: str, output: Any) -> Any:
        """Return what its caller gets."""
        return output


class Call(NamedTuple):
    """The arguments of a call of the built object: nestings that may hold native arrays."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


class Gradients(NamedTuple):
    """The gradients of a sum of products: by leaf, None where nothing depends on it, and by the trained weight's name."""

    outputs: list[Any]
    leaves: list[Any]
    weights: dict[str, Any]


class Adapter(ABC):
    """A subject built in one dtype.

    Args:
        subject: what to build. dtype: the floats of weights, inputs and defaults.
        first: gives the first call, from the adapter, to what makes its weights when it is called.
    """

    dtypes: tuple[str, ...] = ("float64", "float32")
    differentiates = True
    calls = "__call__"  # the method in which the author of a module names its arguments

    def __init__(self, subject: Subject, dtype: str, first: Callable[[Adapter], Call]):
        self.subject, self.dtype = subject, dtype
        self.built = self.build(lambda: first(self))

    @staticmethod
    @abstractmethod
    def version() -> str:
        """Return the framework's version, and of its library of layers."""

    @classmethod
    def offered(cls, subject: Subject) -> tuple[str, ...]:
        """Return the dtypes that the subject can be built in."""
        return cls.dtypes

    @abstractmethod
    def build(self, first: Callable[[], Call]) -> Any:
        """Make the object, cast to the dtype, on its device, evaluating as a rule."""

    @abstractmethod
    def weights(self) -> dict[str, np.ndarray]:
        """Return all floating-point tensors that it holds, a shared one once."""

    @abstractmethod
    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        """Replace these tensors' values."""

    @abstractmethod
    def modules(self) -> list[str]:
        """Return the paths of its modules, that of the whole (empty) first; a module's weights begin with its path."""

    @abstractmethod
    def array(self, value: np.ndarray) -> Any:
        """Return a native array; floats in the dtype."""

    @abstractmethod
    def numpy(self, value: Any) -> np.ndarray | None:
        """Return a copy; floats of two bytes as float32; None of what is no array."""

    @abstractmethod
    def dtype_of(self, value: Any) -> str:
        """Return the name of a native array's format."""

    @abstractmethod
    def call(self, call: Call, tap: Tap | None = None) -> Any:
        """Compute."""

    @abstractmethod
    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        """Differentiate the sum of outputs times cotangents.

        Args:
            function: from native leaves to native outputs; it calls ``call``.
            cotangents: gives those of the outputs.
        """

    def steps(self, optimizer: Optimizer, gradients: Sequence[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        """Yield the weights after each step of an optimizer of the framework's own, from given gradients by name."""
        raise NotImplementedError(f"{type(self).__name__} has no optimizers here.")

    @contextmanager
    def dropping(self, mask: Mask) -> Iterator[None]:
        """Let each place that drops, inside the block, take its mask from here; of a framework that cannot an error.

        Args:
            mask: gives booleans, True for what stays, for a shape and a rate.
        """
        raise NotImplementedError(f"Masks of dropout cannot be given to {type(self).__name__}.")
        yield

    def is_float(self, value: Any) -> bool:
        """Tell whether a leaf is an array of floats, which gradients flow through."""
        return self.numpy_kind(value) == "f"

    def is_whole(self, value: Any) -> bool:
        """Tell whether a leaf is an array of whole numbers; booleans are none."""
        return not self.is_float(value) and self.numpy_kind(value) in ("i", "u")

    def numpy_kind(self, value: Any) -> str | None:
        array = self.numpy(value)
        return None if array is None else array.dtype.kind

    @property
    def is_compiled(self) -> bool:
        return bool(self.subject.settings.get("compiled"))

    def made(self, **offered: Any) -> Any:
        """Call the subject's factory, with what is ``offered`` to one that takes a keyword of that name.

        Of a function by name return it with its keywords bound.
        """
        factory = found(self.subject.factory)
        if self.subject.settings.get("function"):
            options = dict(self.subject.options)
            return (lambda *arrays, **more: factory(*arrays, **options, **more)) if options else factory
        takes = parameters_of(factory)
        offered = {name: value for name, value in offered.items() if name in takes and name not in self.subject.options}
        return factory(*self.subject.arguments, **self.subject.options, **offered)

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters of what is called."""
        if {"function", "method"} & set(self.subject.settings):
            return signature_of(self.entry(self.built))
        return signature_of(getattr(self.built, self.calls, getattr(self.built, "forward", None)))

    def entry(self, built: Any) -> Any:
        """Return the object, or its method that the subject names."""
        return getattr(built, self.subject.settings["method"]) if "method" in self.subject.settings else built
