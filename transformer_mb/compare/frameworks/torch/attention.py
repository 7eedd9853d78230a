"""torch.nn.functional.scaled_dot_product_attention, torch.nn.MultiheadAttention and torch.nn.TransformerEncoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .device import from_numpy, here, to_numpy


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    arrays = (from_numpy(queries), from_numpy(keys), from_numpy(values))
    return to_numpy(_attention(*arrays, mask, causal=causal))


def _attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: np.ndarray | None = None,
    causal: bool = False,
    rate: float = 0.0,
) -> torch.Tensor:
    Q, K, V = (array.transpose(1, 2) for array in (queries, keys, values))
    attn_mask = None if mask is None else from_numpy(mask)
    return F.scaled_dot_product_attention(Q, K, V, attn_mask, dropout_p=rate, is_causal=causal).transpose(1, 2)


def attention_gradients(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Q, K, V = (from_numpy(array).requires_grad_() for array in (queries, keys, values))
    dqueries, dkeys, dvalues = torch.autograd.grad(_attention(Q, K, V, mask).sum(), (Q, K, V))
    return to_numpy(dqueries), to_numpy(dkeys), to_numpy(dvalues)


def attention_with_dropout(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    class Model(nn.Module):
        def forward(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            return _attention(queries, keys, values, rate=rate)

    torch.manual_seed(0)
    return to_numpy(Model().eval()(*map(from_numpy, (queries, keys, values))))


def _layer(size: int, heads: int, rate: float) -> nn.MultiheadAttention:
    """With projections that change nothing."""
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(size, heads, dropout=rate, bias=False, batch_first=True, device=here())
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(size, device=here()).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(size, device=here()))
    return layer


def multi_head_attention(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    heads: int = 1,
    rate: float = 0.0,
    training: bool = False,
    weights: bool = False,
) -> np.ndarray:
    layer = _layer(queries.shape[-1], heads, rate).train(training)
    arrays: Any = map(from_numpy, (queries, keys, values))
    output, _ = layer(*arrays, attn_mask=None if mask is None else from_numpy(mask), need_weights=weights)
    return to_numpy(output)


def fresh_multi_head_attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    arrays: Any = map(from_numpy, (queries, keys, values))
    return to_numpy(_layer(queries.shape[-1], 1, rate)(*arrays)[0])


def encoder(X: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(X.shape[-1], nhead=2, dim_feedforward=8, batch_first=True, device=here())
    padding = torch.arange(X.shape[1], device=here()) >= from_numpy(lengths)[:, None]
    with torch.no_grad():
        return to_numpy(nn.TransformerEncoder(layer, 1).eval()(from_numpy(X), src_key_padding_mask=padding))
