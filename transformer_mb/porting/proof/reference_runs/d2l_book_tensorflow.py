"""D2L's Transformer in TensorFlow, on Keras 2 (tf_keras); it has its variables only once it has run."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from .d2l_book import Sizes, import_d2l, new_state, numbered_lens, through_block

LEAVES = {
    "Dense": {"weight": "kernel", "bias": "bias"},
    "LayerNormalization": {"weight": "gamma", "bias": "beta"},
    "Embedding": {"weight": "embeddings"},
}


class Book:
    def __init__(self, sizes: Sizes):
        d2l = import_d2l("tensorflow")  # first: it decides which Keras it is
        import tensorflow

        size, D = (sizes.ffn, sizes.encoder_heads, sizes.encoder_layers), sizes.width
        encoder = d2l.TransformerEncoder(sizes.source_vocab, D, D, D, D, [2], *size, 0.0, sizes.encoder_bias)
        self.net = d2l.EncoderDecoder(encoder, _decoder(tensorflow, d2l, sizes))
        self.tensorflow = tensorflow
        self.version = f"tensorflow {tensorflow.__version__}"

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        one = np.ones((1, 1), np.int64)
        self.logits(one, one[0], one)  # makes the variables
        count = len(self.net.trainable_variables)
        assert count == len(tensors), (count, len(tensors))
        for name, array in tensors.items():
            path, _, leaf = name.rpartition(".")
            layer = reduce(_inner, path.split("."), self.net)
            getattr(layer, LEAVES[type(layer).__name__][leaf]).assign(array)

    def encoder(self, source: np.ndarray, lens: np.ndarray) -> np.ndarray:
        return self.net.encoder(*map(self.tensorflow.constant, (source, lens)), training=True).numpy()

    def logits(self, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
        # The wheel's EncoderDecoder hands ``training`` to the encoder alone by keyword, and the lengths by position.
        return self.net(*map(self.tensorflow.constant, (source, target, lens)), training=True)[0].numpy()


def _inner(layer: Any, name: str) -> Any:
    return layer[int(name.removeprefix("block"))] if isinstance(layer, (list, tuple)) else getattr(layer, name)


def _decoder(tf: Any, d2l: Any, sizes: Sizes) -> Any:
    layers, D = tf.keras.layers, sizes.width

    class DecoderBlock(layers.Layer):  # type: ignore[misc, name-defined]
        def __init__(self, index: int):
            super().__init__()
            self.index = index
            for number in (1, 2):
                attention = d2l.MultiHeadAttention(D, D, D, D, sizes.decoder_heads, 0.0, sizes.decoder_bias)
                setattr(self, f"attention{number}", attention)
                setattr(self, f"addnorm{number}", d2l.AddNorm([2], 0.0))  # axes, not sizes
            self.ffn = d2l.PositionWiseFFN(sizes.ffn, D)
            self.addnorm3 = d2l.AddNorm([2], 0.0)

        def call(self, X: Any, state: Any, **options: Any) -> Any:
            lens = tf.constant(numbered_lens(X))
            return through_block(self, X, state, lambda *both: tf.concat(both, axis=1), lens, **options)

    class TransformerDecoder(d2l.AttentionDecoder):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = layers.Embedding(sizes.target_vocab, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = [DecoderBlock(i) for i in range(sizes.decoder_layers)]
            self.dense = layers.Dense(sizes.target_vocab)

        def init_state(self, *state: Any) -> Any:
            return new_state(*state)

        def call(self, X: Any, state: Any, **options: Any) -> Any:
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D), **options)
            for block in self.blks:
                X, state = block(X, state, **options)
            return self.dense(X), state

    return TransformerDecoder()
