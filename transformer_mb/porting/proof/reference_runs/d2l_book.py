"""D2L's own classes, of the d2l package in four frameworks, on a file's own tensors.

The decoder, which no d2l wheel holds, is chapter 10.7.5 of the book in four spellings (``d2l_book_NAME``). They run in
training mode with dropout 0, the one mode in which the book's decoder is causal and every step is at its true position.
Each ``Book`` offers ``net``, ``load(tensors)`` of arrays by canonical name in the layout of the framework, through the
framework's own loading, ``encoder(source, lens)`` [B, S, D] and ``logits(source, lens, target)`` [B, T, V].
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ...families.naming_schemes import canonical_name
from ..probe import parts
from .stack_probe import greedy

FRAMEWORKS = {"torch": "torch", "mxnet": "mxnet", "paddle": "paddle", "keras": "tensorflow", "tensorflow": "tensorflow"}


@dataclass(frozen=True)
class Sizes:
    """What D2L's constructors take."""

    source_vocab: int
    target_vocab: int
    width: int
    ffn: int
    encoder_heads: int
    decoder_heads: int
    encoder_layers: int
    decoder_layers: int
    encoder_bias: bool = False
    decoder_bias: bool = False


def sizes_of(config: TransformerConfig) -> Sizes:
    sides = [(f"{kind}", side) for kind in ("num_heads", "num_layers", "attention_bias") for side in ("encoder", "decoder")]
    vocabularies = (config.source_vocab_size or 0, config.target_vocab_size or 0)
    rest = [getattr(config, f"{side}_{kind}") for kind, side in sides]
    return Sizes(*vocabularies, config.num_hiddens, config.ffn_num_hiddens, *rest)


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    config, format_name = TransformerConfig.from_dict(settings["config"]), settings["format"]
    batch, tensors = parts(arrays)
    book = make(FRAMEWORKS[format_name], sizes_of(config))
    book.load({canonical_name(name, format_name).name: array.astype(np.float32) for name, array in tensors.items()})
    source, lens = batch["source"], batch["source_valid_lens"]

    def logits(target: np.ndarray) -> np.ndarray:
        return np.array(book.logits(source, lens, target))

    outputs = {"encoder": np.array(book.encoder(source, lens)), "logits": logits(batch["target"])}
    outputs["tokens"] = greedy(logits, len(source), config, settings["max_steps"])
    return outputs, {"ran": f"d2l {importlib.metadata.version('d2l')} on {book.version}"}


def make(framework: str, sizes: Sizes) -> Any:
    return importlib.import_module(f"{__package__}.d2l_book_{framework}").Book(sizes)


def import_d2l(name: str) -> Any:
    """The package's module for one framework; it wants torchvision and a display, neither of which it uses here."""
    os.environ.update(TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3")  # its TensorFlow code is of Keras 2
    for missing in ("torchvision", "torchvision.transforms"):
        sys.modules.setdefault(missing, types.ModuleType(missing))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]  # type: ignore[attr-defined]
    import matplotlib

    matplotlib.use("Agg")
    return importlib.import_module(f"d2l.{name}")


def through_block(block: Any, X: Any, state: Any, joined: Callable[..., Any], lens: Any, **options: Any) -> Any:
    """Self-attention over all earlier steps, cross-attention, FFN, each with its residual and norm."""
    outputs, valid_lens, seen = state
    seen[block.index] = X if seen.get(block.index) is None else joined(seen[block.index], X)
    keys = seen[block.index]
    Y = block.addnorm1(X, block.attention1(X, keys, keys, lens, **options), **options)
    Z = block.addnorm2(Y, block.attention2(Y, outputs, outputs, valid_lens, **options), **options)
    return block.addnorm3(Z, block.ffn(Z), **options), state


def new_state(outputs: Any, valid_lens: Any, *unused: Any) -> Any:
    return [outputs, valid_lens, {}]


def numbered_lens(X: Any) -> np.ndarray:
    """[B, T]: query t may attend to the steps up to t."""
    return np.tile(np.arange(1, X.shape[1] + 1), (X.shape[0], 1))
