"""Dropout masks of torch's own random numbers, which the CPU draws sixteen bits at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_mb.config import TransformerConfig
from transformer_mb.dropout_masks import batch_sites


def kept(shape: Sequence[int], rate: float) -> Tensor:
    """0 and 1 as int16, by sixteen random bits each: the CPU draws four of them in a sixth of a Bernoulli number's time."""
    count = math.prod(shape)
    bits = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)[:count]
    # In place, so that no booleans come between: torch compares and converts those several times slower.
    return bits.ge_(math.floor(rate * 2**16) - 2**15).view(shape)


def drawn_masks(config: TransformerConfig, batch: Any) -> dict[str, Tensor]:
    """Draw what ``injected_dropout`` takes, of torch's own random numbers: outside a compiled step, where the CPU is faster."""
    sites = batch_sites(config, batch)
    return {path: kept(shape, rate).bool() for path, (rate, shape) in sites.items()}
