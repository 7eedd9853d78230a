"""D2L's own classes, of the d2l package in four frameworks, on a file's own tensors.

They run in training mode with dropout 0, the one mode in which the book's decoder is causal and every step is at its true
position.
"""

from __future__ import annotations

import importlib.metadata
import tempfile
from collections import OrderedDict
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....parameters import parameter_shapes
from ...families.naming_schemes import D2L_SCHEMES, NAMING_SCHEMES, canonical_name, native_name
from ..probe import greedy_tokens, parts
from .d2l_decoder import Book, Sizes, import_d2l


class TorchBook(Book):
    """D2L's Transformer in PyTorch."""

    def __init__(self, sizes: Sizes):
        import torch

        self.d2l, self.torch, width = import_d2l("torch"), torch, sizes.width
        self.nn, self.tensor = torch.nn, torch.from_numpy
        super().__init__(torch, torch.nn.Module, sizes, (width, width, width, width, [width], width, sizes.ffn))
        self.net.train()

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        self.net.load_state_dict({name: self.tensor(array) for name, array in tensors.items()})

    def array(self, outputs: Any) -> np.ndarray:
        return outputs.detach().numpy()

    def dense(self) -> Any:
        return self.nn.Linear(self.sizes.width, self.sizes.target_vocab)

    def blocks(self, blocks: list[Any]) -> Any:
        return self.nn.Sequential(OrderedDict((f"block{i}", block) for i, block in enumerate(blocks)))

    def joined(self, X: Any, Y: Any) -> Any:
        return self.torch.cat((X, Y), dim=1)


class MxnetBook(Book):
    """The book's classes in MXNet, which have their parameters' shapes only once they have run."""

    def __init__(self, sizes: Sizes):
        np.bool = bool  # type: ignore[attr-defined]  # MXNet 1.9.1 asks NumPy for it
        import mxnet

        mxnet.npx.set_np()
        mxnet.autograd.set_training(True)
        self.d2l, self.mxnet = import_d2l("mxnet"), mxnet
        self.nn, self.tensor = mxnet.gluon.nn, mxnet.np.array
        super().__init__(mxnet, mxnet.gluon.nn.Block, sizes, (sizes.width, sizes.ffn))

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


class PaddleBook(Book):
    """Paddle 3 takes the lengths as float32."""

    def __init__(self, sizes: Sizes):
        import paddle

        self.d2l, self.paddle, width = import_d2l("paddle"), paddle, sizes.width
        self.nn, self.tensor = paddle.nn, paddle.to_tensor
        # What Paddle's ``bias_attr`` takes: None is its own default, a bias.
        biases = [None if bias else False for bias in (sizes.encoder_bias, sizes.decoder_bias)]
        sizes = replace(sizes, encoder_bias=biases[0], decoder_bias=biases[1])
        super().__init__(paddle, paddle.nn.Layer, sizes, (width, width, width, width, [width], width, sizes.ffn))
        self.net.train()

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        own = {native_name(name, D2L_SCHEMES["paddle"]): self.tensor(array) for name, array in tensors.items()}
        missing, unexpected = self.net.set_state_dict(own)
        assert not missing and not unexpected, (missing, unexpected)

    def lengths(self, lens: np.ndarray) -> Any:
        return self.paddle.to_tensor(lens, "float32")

    def dense(self) -> Any:
        return self.nn.Linear(self.sizes.width, self.sizes.target_vocab)

    def blocks(self, blocks: list[Any]) -> Any:
        return self.nn.Sequential(*blocks)

    def joined(self, X: Any, Y: Any) -> Any:
        return self.paddle.concat((X, Y), axis=1)


LEAVES = {
    "Dense": {"weight": "kernel", "bias": "bias"},
    "LayerNormalization": {"weight": "gamma", "bias": "beta"},
    "Embedding": {"weight": "embeddings"},
}


class TensorflowBook(Book):
    """The book's classes on Keras 2 (tf_keras), which have their variables only once they have run."""

    # The wheel's EncoderDecoder hands ``training`` to the encoder alone by keyword, and the lengths by position.
    options = MappingProxyType({"training": True})

    def __init__(self, sizes: Sizes):
        self.d2l = import_d2l("tensorflow")  # first: it decides which Keras it is
        import tensorflow

        self.tensorflow, self.nn, self.tensor = tensorflow, tensorflow.keras.layers, tensorflow.constant
        width = sizes.width
        super().__init__(tensorflow, self.nn.Layer, sizes, (width, width, width, width, [2], sizes.ffn))

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


BOOKS = {"torch": TorchBook, "mxnet": MxnetBook, "paddle": PaddleBook, "tensorflow": TensorflowBook}
BOOKS_OF = {**BOOKS, "keras": TensorflowBook}  # by format


def make(framework: str, sizes: Sizes) -> Any:
    return BOOKS[framework](sizes)


def sizes_of(config: TransformerConfig) -> Sizes:
    sides = [(f"{kind}", side) for kind in ("num_heads", "num_layers", "attention_bias") for side in ("encoder", "decoder")]
    vocabularies = (config.source_vocab_size or 0, config.target_vocab_size or 0)
    rest = [getattr(config, f"{side}_{kind}") for kind, side in sides]
    return Sizes(*vocabularies, config.num_hiddens, config.ffn_num_hiddens, *rest)


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    config, format_name = TransformerConfig.from_dict(settings["config"]), settings["format"]
    batch, tensors = parts(arrays)
    book: Any = BOOKS_OF[format_name](sizes_of(config))
    named = {canonical_name(name, format_name).name: array.astype(np.float32) for name, array in tensors.items()}
    book.load({name: array for name, array in named.items() if name in parameter_shapes(config)})  # no table of positions
    source, lens = batch["source"], batch["source_valid_lens"]

    def logits(target: np.ndarray) -> np.ndarray:
        return np.array(book.logits(source, lens, target))

    outputs = {"encoder": np.array(book.encoder(source, lens)), "logits": logits(batch["target"])}
    outputs["tokens"] = greedy_tokens(logits, len(source), config, settings["max_steps"])
    return outputs, {"ran": f"d2l {importlib.metadata.version('d2l')} on {book.version}"}
