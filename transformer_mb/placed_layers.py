"""A backend's layer classes as its object gives them: what they make has the backend's dtype and lies on its device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class PlacedLayer:
    """``backend.LayerNorm``: called like the class, which ``type(backend).LayerNorm`` is.

    isinstance and issubclass ask the class itself, so that layers made by either are alike. A class that derives from
    this derives from the class itself: what it makes is as the framework makes it.

    Args:
        native: the framework's class. make: calls its argument, with the backend's dtype and device.
    """

    def __init__(self, native: type, make: Callable[..., Any]):
        functools.update_wrapper(self, native, updated=())
        self.native = native
        self.make = make

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.make(self.native, *arguments, **options)

    def from_config(self, *arguments: Any, **options: Any) -> Any:
        return self.make(self.native.from_config, *arguments, **options)  # type: ignore[attr-defined]

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.native)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self.native)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self.native,)

    def __getattr__(self, name: str) -> Any:
        if "native" not in self.__dict__:  # while it is copied
            raise AttributeError(name)
        return getattr(self.native, name)

    def __repr__(self) -> str:
        return f"<{self.native.__module__}.{self.native.__qualname__} of a backend>"
