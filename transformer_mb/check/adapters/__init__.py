"""Adapters, one file per framework: how a subject is built, given weights, called, looked into and differentiated."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ...registry import load_backend_class

if TYPE_CHECKING:
    from .adapter import Adapter


def adapter_of(kind: str) -> type[Adapter]:
    """Return the adapter of a kind of subject; its framework is imported now."""
    if kind == "gluon":  # the backend's package first, for what it does before MXNet can be imported
        load_backend_class("mxnet")
    adapter: type[Adapter] = importlib.import_module(f"{__name__}.{kind}").ADAPTER
    return adapter
