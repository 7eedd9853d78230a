"""Names of a package that load on first use, so that importing the package imports none of what it offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package (PEP 562).

    ``homes`` gives by name the module that defines it, relative to the package, such as ``.runs``; a module that is itself
    offered is its own home, and ends in a dot and its name.
    """

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(homes[name], package)
        return module if module.__name__ == f"{package}.{name}" else getattr(module, name)

    return found
