"""The text that ``help`` shows of a backend and its layers: shapes and options are said once, in ``interface``."""

from __future__ import annotations

import inspect
from typing import Any

from . import interface
from .layer_calls import CALLS
from .representation import settings


def document(backend: Any) -> None:
    """Give layers and their calls the contract's docstring, and methods that of what they override.

    And where the framework's ``repr`` asks a layer for what it shows (``extra_repr``), its settings.
    """
    for method in vars(backend).values():
        if inspect.isfunction(method) and not method.__doc__:
            method.__doc__ = inspect.getdoc(getattr(super(backend, backend), method.__name__, None))
    for name, contract in {**interface.LAYERS, **interface.FUNCTIONS}.items():
        layer = getattr(backend, name, None)
        if layer is not None and contract.__doc__ not in (layer.__doc__ or ""):
            particular = f"\n\n    In this backend: {layer.__doc__}" if layer.__doc__ else ""
            layer.__doc__ = f"{str(contract.__doc__).rstrip()}{particular}"
        for call in vars(layer).keys() & set(CALLS) if isinstance(layer, type) else ():
            getattr(layer, call).__doc__ = contract.__doc__
        if hasattr(layer, "extra_repr"):
            setattr(layer, "extra_repr", settings)  # noqa: B010  # not all frameworks have it
