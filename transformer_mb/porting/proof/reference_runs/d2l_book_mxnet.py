"""D2L's Transformer in MXNet, which has its parameters' shapes only once it has run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...families.naming_schemes import NAMING_SCHEMES, native_name
from .d2l_book import Book, Sizes, import_d2l


class FrameworkBook(Book):
    def __init__(self, sizes: Sizes):
        np.bool = bool  # type: ignore[attr-defined]  # MXNet 1.9.1 asks NumPy for it
        import mxnet

        mxnet.npx.set_np()
        mxnet.autograd.set_training(True)
        self.d2l, self.mxnet = import_d2l("mxnet"), mxnet
        self.nn, self.tensor = mxnet.gluon.nn, mxnet.np.array
        size = (sizes.source_vocab, sizes.width, sizes.ffn, sizes.encoder_heads, sizes.encoder_layers)
        super().__init__(
            mxnet, mxnet.gluon.nn.Block, self.d2l.TransformerEncoder(*size, sizes.dropout, sizes.encoder_bias), sizes
        )

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        own = {native_name(name, NAMING_SCHEMES["mxnet"]): self.tensor(array) for name, array in tensors.items()}
        with tempfile.TemporaryDirectory() as folder:  # load_parameters takes nothing but a file
            path = str(Path(folder) / "own.params")
            self.mxnet.npx.save(path, own)
            self.net.load_parameters(path)

    def array(self, outputs: Any) -> np.ndarray:
        return outputs.asnumpy()

    def attention(self) -> Any:
        return self.d2l.MultiHeadAttention(
            self.sizes.width, self.sizes.decoder_heads, self.sizes.dropout, self.sizes.decoder_bias
        )

    def norm(self) -> Any:
        return self.d2l.AddNorm(self.sizes.dropout)

    def ffn(self) -> Any:
        return self.d2l.PositionWiseFFN(self.sizes.ffn, self.sizes.width)

    def dense(self) -> Any:
        return self.nn.Dense(self.sizes.target_vocab, flatten=False)

    def blocks(self, blocks: list[Any]) -> Any:
        layers = self.nn.Sequential()
        layers.add(*blocks)
        return layers

    def joined(self, X: Any, Y: Any) -> Any:
        return self.mxnet.np.concatenate((X, Y), axis=1)
