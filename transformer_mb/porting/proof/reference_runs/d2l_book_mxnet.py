"""D2L's Transformer in MXNet, which has its parameters' shapes only once it has run."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...families.naming_schemes import NAMING_SCHEMES, native_name
from .d2l_book import Sizes, import_d2l, new_state, numbered_lens, through_block


class Book:
    def __init__(self, sizes: Sizes):
        np.bool = bool  # type: ignore[attr-defined]  # MXNet 1.9.1 asks NumPy for it
        import mxnet

        mxnet.npx.set_np()
        d2l = import_d2l("mxnet")
        size = (sizes.source_vocab, sizes.width, sizes.ffn, sizes.encoder_heads, sizes.encoder_layers)
        encoder = d2l.TransformerEncoder(*size, 0.0, sizes.encoder_bias)
        self.net = d2l.EncoderDecoder(encoder, _decoder(mxnet, d2l, sizes))
        self.mxnet = mxnet
        self.version = f"mxnet {mxnet.__version__}"

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        own = {native_name(name, NAMING_SCHEMES["mxnet"]): self.mxnet.np.array(array) for name, array in tensors.items()}
        with tempfile.TemporaryDirectory() as folder:  # load_parameters takes nothing but a file
            path = str(Path(folder) / "own.params")
            self.mxnet.npx.save(path, own)
            self.net.load_parameters(path)

    def encoder(self, source: np.ndarray, lens: np.ndarray) -> np.ndarray:
        with self.mxnet.autograd.train_mode():
            return self.net.encoder(*map(self.mxnet.np.array, (source, lens))).asnumpy()

    def logits(self, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
        with self.mxnet.autograd.train_mode():
            return self.net(*map(self.mxnet.np.array, (source, target, lens)))[0].asnumpy()


def _decoder(mxnet: Any, d2l: Any, sizes: Sizes) -> Any:
    nn, D = mxnet.gluon.nn, sizes.width

    class DecoderBlock(nn.Block):  # type: ignore[misc, name-defined]
        def __init__(self, index: int):
            super().__init__()
            self.index = index
            for number in (1, 2):
                attention = d2l.MultiHeadAttention(D, sizes.decoder_heads, 0.0, sizes.decoder_bias)
                setattr(self, f"attention{number}", attention)
                setattr(self, f"addnorm{number}", d2l.AddNorm(0.0))
            self.ffn = d2l.PositionWiseFFN(sizes.ffn, D)
            self.addnorm3 = d2l.AddNorm(0.0)

        def forward(self, X: Any, state: Any) -> Any:
            lens = mxnet.np.array(numbered_lens(X)) if mxnet.autograd.is_training() else None
            return through_block(self, X, state, lambda *both: mxnet.np.concatenate(both, axis=1), lens)

    class TransformerDecoder(d2l.AttentionDecoder):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(sizes.target_vocab, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = nn.Sequential()
            for i in range(sizes.decoder_layers):
                self.blks.add(DecoderBlock(i))
            self.dense = nn.Dense(sizes.target_vocab, flatten=False)

        def init_state(self, *state: Any) -> Any:
            return new_state(*state)

        def forward(self, X: Any, state: Any) -> Any:
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    return TransformerDecoder()
