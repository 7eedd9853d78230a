"""D2L's Transformer in TensorFlow, on Keras 2 (tf_keras); it has its variables only once it has run."""

from __future__ import annotations

from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from .d2l_book import Book, Sizes, import_d2l

LEAVES = {
    "Dense": {"weight": "kernel", "bias": "bias"},
    "LayerNormalization": {"weight": "gamma", "bias": "beta"},
    "Embedding": {"weight": "embeddings"},
}


class FrameworkBook(Book):
    # The wheel's EncoderDecoder hands ``training`` to the encoder alone by keyword, and the lengths by position.
    options = MappingProxyType({"training": True})

    def __init__(self, sizes: Sizes):
        self.d2l = import_d2l("tensorflow")  # first: it decides which Keras it is
        import tensorflow

        self.tensorflow, self.nn, self.tensor = tensorflow, tensorflow.keras.layers, tensorflow.constant
        size, width = (sizes.ffn, sizes.encoder_heads, sizes.encoder_layers), sizes.width
        widths = (width, width, width, width, [2])
        encoder = self.d2l.TransformerEncoder(sizes.source_vocab, *widths, *size, sizes.dropout, sizes.encoder_bias)
        super().__init__(tensorflow, self.nn.Layer, encoder, sizes)

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        one = np.ones((1, 1), np.int64)
        self.logits(one, one[0], one)  # makes the variables
        count = len(self.net.trainable_variables)
        assert count == len(tensors), (count, len(tensors))
        for name, array in tensors.items():
            path, _, leaf = name.rpartition(".")
            layer = reduce(_inner, path.split("."), self.net)
            getattr(layer, LEAVES[type(layer).__name__][leaf]).assign(array)

    def norm(self) -> Any:
        return self.d2l.AddNorm([2], self.sizes.dropout)  # axes, not sizes

    def ffn(self) -> Any:
        return self.d2l.PositionWiseFFN(self.sizes.ffn, self.sizes.width)

    def dense(self) -> Any:
        return self.nn.Dense(self.sizes.target_vocab)

    def blocks(self, blocks: list[Any]) -> Any:
        return blocks

    def joined(self, X: Any, Y: Any) -> Any:
        return self.tensorflow.concat((X, Y), axis=1)


def _inner(layer: Any, name: str) -> Any:
    return layer[int(name.removeprefix("block"))] if isinstance(layer, (list, tuple)) else getattr(layer, name)
