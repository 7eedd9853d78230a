"""torch.nn.Embedding."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


def embed(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    return nn.Embedding.from_pretrained(torch.from_numpy(table))(torch.from_numpy(ids)).numpy()


def embed_with_padding(ids: np.ndarray, table: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray]:
    layer = nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=False, padding_idx=padding)
    output = layer(torch.from_numpy(ids))
    output.sum().backward()
    assert layer.weight.grad is not None
    return output.detach().numpy(), layer.weight.grad.numpy()


def fresh_padding_row(rows: int, size: int, padding: int) -> np.ndarray:
    torch.manual_seed(0)
    return nn.Embedding(rows, size, padding_idx=padding).weight[padding].detach().numpy()
