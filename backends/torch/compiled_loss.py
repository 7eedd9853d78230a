"""A training step's loss through torch.compile: one program of forward and loss, and one of their backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .embedding import PositionalEncoding
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .without_setuptools import import_paths


def batch_loss(model: EncoderDecoder, loss: MaskedSoftmaxCELoss, *batch: Any) -> Tensor:
    source, source_valid_lens, target_in, target_out, target_valid_lens = batch
    logits, _ = model(source, target_in, source_valid_lens)
    return loss(logits, target_out, target_valid_lens).sum()


def compiled_loss(model: EncoderDecoder, loss: MaskedSoftmaxCELoss) -> Callable[..., Tensor]:
    """``batch_loss`` of batches of any size: a program for each would be as long in the making as the first."""
    weight = next(model.parameters())
    for module in model.modules():
        if isinstance(module, PositionalEncoding):
            module._match(weight)  # else it would be a part of the program how the table is made

    def compute(*batch: Any) -> Tensor:
        return batch_loss(model, loss, *batch)

    import_paths()
    return torch.compile(compute, dynamic=True)
