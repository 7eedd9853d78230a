"""A training step's loss through torch.compile: one program of forward and loss, and one of their backward."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from ..embedding import PositionalEncoding, RelativeBias
from ..loss import MaskedSoftmaxCELoss
from ..model import EncoderDecoder
from ..rotary import RotaryEncoding

# A module that says where PyTorch's headers are, and what it imports of setuptools.
PATHS = "torch.utils.cpp_extension"
STAND_INS = ("setuptools", "setuptools.command", "setuptools.command.build_ext")


def batch_loss(model: EncoderDecoder, loss: MaskedSoftmaxCELoss, *batch: Any) -> Tensor:
    source, source_valid_lens, target_in, target_out, target_valid_lens = batch
    logits, _ = model(source, target_in, source_valid_lens)
    return loss(logits, target_out, target_valid_lens).sum()


def compiled_loss(model: EncoderDecoder, loss: MaskedSoftmaxCELoss) -> Callable[..., Tensor]:
    """``batch_loss`` of batches of any size: a program for each would be as long in the making as the first.

    On a GPU the first size has one of its own, which is a quarter faster and made in half the time, and the second size has
    one made for all others.
    """
    weight = next(model.parameters())
    for module in model.modules():
        if isinstance(module, PositionalEncoding | RelativeBias | RotaryEncoding):
            module._match(weight)  # else it would be a part of the program how the table is made

    def compute(*batch: Any) -> Tensor:
        return batch_loss(model, loss, *batch)

    import_paths()
    return torch.compile(compute, dynamic=None if weight.is_cuda else True)


def import_paths() -> None:
    """Import that module, where need be with a stand-in for setuptools, which is gone afterwards.

    PyTorch asks for setuptools, but a Python since 3.12 comes without, and images leave it out; torch.compile builds nothing
    with it. What the module has for extensions in C++ (``BuildExtension``) builds nothing then either.
    """
    if PATHS in sys.modules or find_spec("setuptools") is not None:
        return
    modules = {name: ModuleType(name) for name in STAND_INS}
    modules["setuptools"].Command = object  # type: ignore[attr-defined]
    modules["setuptools.command.build_ext"].build_ext = object  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        importlib.import_module(PATHS)
    finally:
        for name in modules:
            del sys.modules[name]
