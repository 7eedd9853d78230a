"""torch.nn.Embedding."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from .device import from_numpy, here, to_numpy


def embed(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    return to_numpy(nn.Embedding.from_pretrained(from_numpy(table))(from_numpy(ids)))


def embed_with_padding(ids: np.ndarray, table: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray]:
    layer = nn.Embedding.from_pretrained(from_numpy(table), freeze=False, padding_idx=padding)
    output = layer(from_numpy(ids))
    output.sum().backward()
    assert layer.weight.grad is not None
    return to_numpy(output), to_numpy(layer.weight.grad)


def fresh_padding_row(rows: int, size: int, padding: int) -> np.ndarray:
    torch.manual_seed(0)
    return to_numpy(nn.Embedding(rows, size, padding_idx=padding, device=here()).weight[padding])
