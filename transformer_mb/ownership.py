"""The backend that a model belongs to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .built_in import BUILT_IN
from .errors import BackendError


def built_in_of(kind: type) -> frozenset[str]:
    """The built-in backends in whose modules a class, or one that it derives from, is defined."""
    return _built_in_of(tuple(ancestor.__module__ for ancestor in kind.__mro__))


@lru_cache(maxsize=256)  # asked in each call of a model
def _built_in_of(modules: tuple[str, ...]) -> frozenset[str]:
    return frozenset(
        name for name, entry in BUILT_IN.items() if any(f"{home}.".startswith(f"{entry.module}.") for home in modules)
    )


def check_own(backend: Any, model: Any) -> None:
    """Refuse a model of another built-in backend, whose tensors this one cannot compute with. Raises BackendError.

    Classes that derive from none, such as those of other packages or what wraps a model, are their makers' affair. A backend of
    another package that computes with a built-in one's models derives from that backend's class.
    """
    own, others = built_in_of(type(backend)), built_in_of(type(model))
    if others and not own & others:
        raise BackendError(f"The model must be of backend {backend.name}, got one of backend {', '.join(sorted(others))}.")
