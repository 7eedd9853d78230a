"""A model's parameters as its framework holds them, and their canonical form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class NativeParameter(ABC):
    """A parameter of a native model.

    Args:
        holder: the framework's own object.
        transposed: whether its canonical layout is its transpose: a linear weight [in, out], canonically [out, in].
    """

    def __init__(self, holder: Any, transposed: bool = False):
        self.holder = holder
        self.transposed = transposed

    @property
    def value(self) -> Any:
        """The framework's tensor."""
        return self.holder

    @property
    def trained(self) -> bool:
        """Tell whether a trainer may change a parameter: not where the framework's own flag has frozen it."""
        return True

    @property
    def shape(self) -> tuple[int, ...]:
        """The canonical shape."""
        shape = tuple(self.value.shape)
        return shape[::-1] if self.transposed else shape

    def canonical(self, tensor: Any) -> np.ndarray:
        """Return its value, or a gradient or moment of it, as an array of its own in canonical layout."""
        return np.ascontiguousarray(self.layout(self.to_numpy(tensor)))

    def layout(self, array: np.ndarray) -> np.ndarray:
        """Convert from the canonical layout to the framework's, or back."""
        return array.T if self.transposed else array

    def native(self, array: np.ndarray) -> Any:
        """A tensor of its own from an array of canonical layout."""
        return self.from_numpy(self.layout(array))

    @staticmethod
    @abstractmethod
    def to_numpy(tensor: Any) -> np.ndarray:
        """A copy on the host; low precision as float32."""

    @abstractmethod
    def from_numpy(self, array: np.ndarray) -> Any:
        """A copy in this parameter's dtype and on its device."""

    @abstractmethod
    def assign(self, tensor: Any) -> None:
        """Overwrite the value."""


NativeParameters = Mapping[str, NativeParameter]


def by_name(parameters: NativeParameters, tensors: Iterable[Any]) -> dict[str, np.ndarray]:
    """Return one tensor for each parameter, by canonical name and in canonical layout."""
    pairs = zip(parameters.items(), tensors, strict=True)
    return {name: parameter.canonical(tensor) for (name, parameter), tensor in pairs}
