"""Which backend a native model belongs to."""

from __future__ import annotations

from typing import Any

from .backend import Backend
from .errors import BackendError
from .registry import entries, load_backend_class


def backend_of(model: Any) -> Backend:
    """The backend in whose module the class of a model, or a class that it derives from, is defined.

    It stands for the framework alone, on its default device: reading a model's weights needs no more. Raises
    BackendError for a model that another class wraps, such as a compiled or a distributed one.
    """
    for ancestor in type(model).__mro__:
        for name, entry in entries().items():
            package = entry.module.partition(":")[0]
            if ancestor.__module__ == package or ancestor.__module__.startswith(f"{package}."):
                return load_backend_class(name)()
    raise BackendError(
        f"The model must be one that a backend made ({', '.join(entries())}), got a {type(model).__module__}."
        f"{type(model).__qualname__}. Give its backend, or the model inside what wraps it."
    )
