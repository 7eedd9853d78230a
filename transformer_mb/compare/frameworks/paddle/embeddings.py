"""paddle.nn.Embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
from paddle import nn


def _layer(table: np.ndarray, **options: Any) -> Any:
    layer = nn.Embedding(*table.shape, **options)
    layer.weight.set_value(table)
    return layer


def embed(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    return _layer(table)(paddle.to_tensor(ids)).numpy()


def embed_with_padding(ids: np.ndarray, table: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray]:
    layer = _layer(table, padding_idx=padding)
    output = layer(paddle.to_tensor(ids))
    output.sum().backward()
    return output.numpy(), layer.weight.grad.numpy()


def fresh_padding_row(rows: int, size: int, padding: int) -> np.ndarray:
    paddle.seed(0)
    return nn.Embedding(rows, size, padding_idx=padding).weight[padding].numpy()
