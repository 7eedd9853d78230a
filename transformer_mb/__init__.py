"""The Transformer, written natively in several frameworks behind one interface.

Names load on first use: importing this package imports no framework, and not even NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import compare, data, errors, presets
    from .backend import Backend
    from .checkpoint import average, load, save
    from .config import TransformerConfig
    from .data.batching import Batches
    from .data.vocabulary import Vocabulary
    from .decoding.sampling import Sampling
    from .inference.generation import Generator
    from .inference.translation import Translator
    from .porting.port import port
    from .registry import get_backend
    from .training import train

__version__ = "0.1.0"

_HOMES = {
    "Backend": "backend",
    "Batches": "data.batching",
    "Generator": "inference.generation",
    "Sampling": "decoding.sampling",
    "TransformerConfig": "config",
    "Translator": "inference.translation",
    "Vocabulary": "data.vocabulary",
    "average": "checkpoint",
    "get_backend": "registry",
    "load": "checkpoint",
    "port": "porting.port",
    "save": "checkpoint",
    "train": "training",
}
_MODULES = ("compare", "data", "errors", "presets")
__all__ = [
    "Backend",
    "Batches",
    "Generator",
    "Sampling",
    "TransformerConfig",
    "Translator",
    "Vocabulary",
    "average",
    "compare",
    "data",
    "errors",
    "get_backend",
    "load",
    "port",
    "presets",
    "save",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names alone."""
    return ["__version__", *__all__]
