"""The layers and functions of ``interface`` that a backend's class offers, and the text that ``help`` shows of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from . import interface
from .layer_calls import CALLS
from .representation import settings


class OfferedLayers:
    """Hold a framework's own layer classes and functions as attributes, as its package's files define them."""

    LayerNorm: ClassVar[type[interface.LayerNorm]]
    AddNorm: ClassVar[type[interface.AddNorm]]
    PositionWiseFFN: ClassVar[type[interface.PositionWiseFFN]]
    DotProductAttention: ClassVar[type[interface.DotProductAttention]]
    MultiHeadAttention: ClassVar[type[interface.MultiHeadAttention]]
    PositionalEncoding: ClassVar[type[interface.PositionalEncoding]]
    EncoderBlock: ClassVar[type[interface.EncoderBlock]]
    DecoderBlock: ClassVar[type[interface.DecoderBlock]]
    TransformerEncoder: ClassVar[type[interface.TransformerEncoder]]
    TransformerDecoder: ClassVar[type[interface.TransformerDecoder]]
    EncoderDecoder: ClassVar[type[interface.EncoderDecoder]]
    MaskedSoftmaxCELoss: ClassVar[type[interface.MaskedSoftmaxCELoss]]
    sequence_mask: ClassVar[interface.SequenceMask]
    masked_softmax: ClassVar[interface.MaskedSoftmax]
    transpose_qkv: ClassVar[interface.TransposeHeads]
    transpose_output: ClassVar[interface.TransposeHeads]

    # The files in which a backend's package has its layers and functions, and which of them become attributes of its class.
    files: ClassVar[tuple[str, ...]] = (
        *("attention", "normalization", "feed_forward", "embedding", "encoder", "decoder", "model", "loss"),
    )
    offered: ClassVar[Mapping[str, str]] = {name: name for name in (*interface.LAYERS, *interface.FUNCTIONS)}

    def __init_subclass__(cls, package: str | None = None, **options: Any):
        """Take from a package's ``files`` what is ``offered``; without one a backend sets its layers itself."""
        super().__init_subclass__(**options)
        for file in cls.files if package else ():
            offered = vars(import_module(f"{package}.{file}"))
            for attribute, name in cls.offered.items():
                if name in offered:
                    setattr(cls, attribute, offered[name] if isinstance(offered[name], type) else staticmethod(offered[name]))
        document(cls)


def document(backend: Any) -> None:
    """Give layers and their calls the contract's docstring, and methods that of what they override.

    Shapes and options are said once, in ``interface``. And where the framework's ``repr`` asks a layer for what it shows
    (``extra_repr``), its settings.
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
