"""The decoder of D2L's Transformer, which no d2l wheel holds: chapter 10.7.5 of the book, for the layers of any framework."""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sizes:
    """The arguments of D2L's constructors."""

    source_vocab: int
    target_vocab: int
    width: int
    ffn: int
    encoder_heads: int
    decoder_heads: int
    encoder_layers: int
    decoder_layers: int
    encoder_bias: bool | None = False
    decoder_bias: bool | None = False
    dropout: float = 0.0


class Book:
    """D2L's model in one framework, and what makes the layers of the decoder; what differs is in ``d2l_book``.

    A subclass sets the attributes below, and offers ``dense()``, ``blocks(list)``, ``joined(X, Y)``, one after the other in
    time, and ``load(tensors)``, of arrays by canonical name in the framework's layout.
    """

    d2l: Any  # its module
    nn: Any  # the framework's module of layers
    tensor: Callable[[np.ndarray], Any]
    options: Mapping[str, Any] = MappingProxyType({})  # of every call
    causal = True  # as the book's decoder is in training; in evaluation it looks at all that it has got

    def __init__(self, framework: Any, layer: Any, sizes: Sizes, widths: tuple[Any, ...]):
        """``layer`` is the base of all layers; ``widths`` are what the encoder takes between its vocabulary and its heads."""
        self.sizes, rest = sizes, (sizes.encoder_heads, sizes.encoder_layers, sizes.dropout, sizes.encoder_bias)
        encoder = self.d2l.TransformerEncoder(sizes.source_vocab, *widths, *rest)
        self.version = f"{framework.__name__} {framework.__version__}"
        self.net = self.d2l.EncoderDecoder(encoder, decoder_of(self, layer))

    def encoder(self, source: np.ndarray, lens: np.ndarray) -> np.ndarray:
        """[B, S, D]."""
        return self.array(self.net.encoder(self.tensor(source), self.lengths(lens), **self.options))

    def logits(self, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
        """[B, T, V]."""
        inputs = (self.tensor(source), self.tensor(target), self.lengths(lens))
        return self.array(self.net(*inputs, **self.options)[0])

    def lengths(self, lens: np.ndarray) -> Any:
        return self.tensor(lens)

    def array(self, outputs: Any) -> np.ndarray:
        return outputs.numpy()

    def attention(self) -> Any:
        width = self.sizes.width
        options = (self.sizes.decoder_heads, self.sizes.dropout, self.sizes.decoder_bias)
        return self.d2l.MultiHeadAttention(width, width, width, width, *options)

    def norm(self) -> Any:
        return self.d2l.AddNorm([self.sizes.width], self.sizes.dropout)

    def ffn(self) -> Any:
        return self.d2l.PositionWiseFFN(self.sizes.width, self.sizes.ffn, self.sizes.width)

    def embedding(self) -> Any:
        return self.nn.Embedding(self.sizes.target_vocab, self.sizes.width)

    def positions(self) -> Any:
        return self.d2l.PositionalEncoding(self.sizes.width, self.sizes.dropout)


def import_d2l(name: str) -> Any:
    """The package's module for one framework; it wants torchvision and a display, neither of which it uses here."""
    os.environ.update(TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3")  # its TensorFlow code is of Keras 2
    for missing in ("torchvision", "torchvision.transforms"):
        sys.modules.setdefault(missing, ModuleType(missing))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]  # type: ignore[attr-defined]
    import matplotlib

    matplotlib.use("Agg")
    return importlib.import_module(f"d2l.{name}")


def decoder_of(book: Any, layer: Any) -> Any:
    """Chapter 10.7.5; ``layer`` is the framework's base of all layers, which calls ``forward``, or in Keras ``call``."""

    class DecoderBlock(layer):  # type: ignore[misc]
        def __init__(self, index: int):
            super().__init__()
            self.index = index
            for number in (1, 2):
                setattr(self, f"attention{number}", book.attention())
                setattr(self, f"addnorm{number}", book.norm())
            self.ffn = book.ffn()
            self.addnorm3 = book.norm()

        def forward(self, X: Any, state: Any, **options: Any) -> Any:
            """Self-attention over all earlier steps, cross-attention, FFN, each with its residual and norm."""
            outputs, valid_lens, seen = state
            seen[self.index] = X if seen.get(self.index) is None else book.joined(seen[self.index], X)
            keys = seen[self.index]
            up_to_itself = book.lengths(np.tile(np.arange(1, X.shape[1] + 1), (X.shape[0], 1))) if book.causal else None
            Y = self.attention1(X, keys, keys, up_to_itself, **options)
            Y = self.addnorm1(X, Y, **options)
            Z = self.addnorm2(Y, self.attention2(Y, outputs, outputs, valid_lens, **options), **options)
            return self.addnorm3(Z, self.ffn(Z), **options), state

        call = forward

    class TransformerDecoder(book.d2l.AttentionDecoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = book.embedding()
            self.pos_encoding = book.positions()
            self.blks = book.blocks([DecoderBlock(i) for i in range(book.sizes.decoder_layers)])
            self.dense = book.dense()

        def init_state(self, outputs: Any, valid_lens: Any, *unused: Any) -> Any:
            return [outputs, valid_lens, {}]

        def forward(self, X: Any, state: Any, **options: Any) -> Any:
            X = self.pos_encoding(self.embedding(X) * math.sqrt(book.sizes.width), **options)
            for block in self.blks:
                X, state = block(X, state, **options)
            return self.dense(X), state

        call = forward

    return TransformerDecoder()
