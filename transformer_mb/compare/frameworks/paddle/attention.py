"""paddle.nn.functional.scaled_dot_product_attention, paddle.nn.MultiHeadAttention and paddle.nn.TransformerEncoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F


def _attention(queries: Any, keys: Any, values: Any, mask: np.ndarray | None = None, **options: Any) -> Any:
    attn_mask = None if mask is None else paddle.to_tensor(mask[None, None])
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask, **options)


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    arrays = (paddle.to_tensor(queries), paddle.to_tensor(keys), paddle.to_tensor(values))
    return _attention(*arrays, mask, is_causal=causal).numpy()


def attention_gradients(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Q, K, V = (paddle.to_tensor(array, stop_gradient=False) for array in (queries, keys, values))
    dqueries, dkeys, dvalues = paddle.grad(_attention(Q, K, V, mask).sum(), [Q, K, V])
    return dqueries.numpy(), dkeys.numpy(), dvalues.numpy()


def attention_with_dropout(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    class Model(nn.Layer):
        def forward(self, *arrays: Any) -> Any:
            return _attention(*arrays, dropout_p=rate)

    paddle.seed(0)
    model = Model()
    model.eval()
    return model(*map(paddle.to_tensor, (queries, keys, values))).numpy()


def _layer(size: int, heads: int, rate: float, weights: bool = False) -> Any:
    """With projections that change nothing."""
    paddle.seed(0)
    layer = nn.MultiHeadAttention(size, heads, dropout=rate, need_weights=weights, bias_attr=False)
    for part in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
        part.weight.set_value(paddle.eye(size))
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
    layer = _layer(queries.shape[-1], heads, rate, weights)
    layer.train() if training else layer.eval()
    attn_mask = None if mask is None else paddle.to_tensor(mask[None, None])
    output = layer(*map(paddle.to_tensor, (queries, keys, values)), attn_mask=attn_mask)
    return (output[0] if weights else output).numpy()


def fresh_multi_head_attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    return _layer(queries.shape[-1], 1, rate)(*map(paddle.to_tensor, (queries, keys, values))).numpy()


def encoder(X: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    paddle.seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(X.shape[-1], nhead=2, dim_feedforward=8), 1)
    model.eval()
    within = np.arange(X.shape[1]) < lengths[:, None]
    return model(paddle.to_tensor(X), src_mask=paddle.to_tensor(within[:, None, None])).numpy()
