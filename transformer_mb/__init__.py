"""The Transformer, written natively in several frameworks behind one interface.

Names load on first use: importing this package imports no framework, and not even NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_names

if TYPE_CHECKING:
    from . import check, compare, data, errors, presets
    from .backend import Backend
    from .checkpoint import average, load, save
    from .config import TransformerConfig
    from .data.batching import Batches
    from .data.vocabulary import Vocabulary
    from .decoding.generation_config import GenerationConfig
    from .decoding.sampling import Sampling
    from .inference.generation import Generator
    from .inference.translation import Translator
    from .porting.port import port
    from .registry import get_backend
    from .training import train

__version__ = "0.1.0"

_HOMES = {
    "average": ".checkpoint",
    "Backend": ".backend",
    "Batches": ".data.batching",
    "check": ".check",
    "compare": ".compare",
    "data": ".data",
    "errors": ".errors",
    "GenerationConfig": ".decoding.generation_config",
    "Generator": ".inference.generation",
    "get_backend": ".registry",
    "load": ".checkpoint",
    "port": ".porting.port",
    "presets": ".presets",
    "Sampling": ".decoding.sampling",
    "save": ".checkpoint",
    "train": ".training",
    "TransformerConfig": ".config",
    "Translator": ".inference.translation",
    "Vocabulary": ".data.vocabulary",
}
__all__ = [
    "Backend",
    "Batches",
    "GenerationConfig",
    "Generator",
    "Sampling",
    "TransformerConfig",
    "Translator",
    "Vocabulary",
    "average",
    "check",
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


__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    """The public names alone."""
    return ["__version__", *__all__]
