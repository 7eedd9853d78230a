"""torch.nn's layers, and the functions of torch.nn.functional for attention, softmax and activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..calls import Table
from .arrays import called, gradient, here


def fresh(layer: Callable[..., nn.Module]) -> Callable[[Tensor], Tensor]:
    """Return a function that makes a layer without sizes and calls it."""
    return lambda X: layer()(X)


def attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, causal: bool = False, rate: float = 0.0) -> Tensor:
    """Attend with arrays [B, T, H, D], which torch takes as [B, H, T, D]."""
    Q, K, V = (array.transpose(1, 2) for array in (Q, K, V))
    return F.scaled_dot_product_attention(Q, K, V, mask, dropout_p=rate, is_causal=causal).transpose(1, 2)


def attention_with_dropout(Q: Tensor, K: Tensor, V: Tensor, rate: float) -> Tensor:
    class Model(nn.Module):
        def forward(self, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
            return attention(Q, K, V, rate=rate)

    torch.manual_seed(0)
    return Model().eval()(Q, K, V)


def _identity_attention(size: int, heads: int, rate: float) -> nn.MultiheadAttention:
    """Make a layer whose projections are the identity."""
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(size, heads, dropout=rate, bias=False, batch_first=True, device=here())
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(size, device=here()).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(size, device=here()))
    return layer


def multi_head_attention(
    *arrays: Tensor, heads: int = 1, rate: float = 0.0, training: bool = False, weights: bool = False
) -> Tensor:
    queries, keys, values, *mask = arrays
    layer = _identity_attention(queries.shape[-1], heads, rate).train(training)
    return layer(queries, keys, values, attn_mask=mask[0] if mask else None, need_weights=weights)[0]


def encoder(X: Tensor, lengths: Tensor) -> Tensor:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(X.shape[-1], nhead=2, dim_feedforward=8, batch_first=True, device=here())
    padding = torch.arange(X.shape[1], device=here()) >= lengths[:, None]
    with torch.no_grad():
        return nn.TransformerEncoder(layer, 1).eval()(X, src_key_padding_mask=padding)


def masked_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    within = torch.arange(scores.shape[-1], device=here()) < lengths[..., None]
    return torch.masked.softmax(scores, -1, mask=within)


def batch_norm(X: Tensor, **options: Any) -> tuple[Any, Any, Any]:
    """Return the output, running mean and running variance of a new layer, which is in training mode."""
    layer = nn.BatchNorm1d(X.shape[1], **options, device=here())
    return layer(X), layer.running_mean, layer.running_var


def embed_with_padding(ids: Tensor, table: Tensor, padding: int) -> tuple[Tensor, Any]:
    layer = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=padding)
    output = layer(ids)
    output.sum().backward()
    return output, layer.weight.grad


def fresh_padding_row(rows: int, size: int, padding: int) -> Tensor:
    torch.manual_seed(0)
    return nn.Embedding(rows, size, padding_idx=padding, device=here()).weight[padding]


TABLES: dict[str, Table] = {
    "attention": called(
        attention=attention,
        attention_gradients=gradient(attention, of=3),
        attention_with_dropout=attention_with_dropout,
        multi_head_attention=multi_head_attention,
        fresh_multi_head_attention=lambda Q, K, V, rate: _identity_attention(Q.shape[-1], 1, rate)(Q, K, V)[0],
        encoder=encoder,
    ),
    "softmax": called(
        softmax=F.softmax,
        masked_softmax=masked_softmax,
        linear=lambda X, weight: F.linear(X, weight.T.contiguous()),
    ),
    "norms": called(
        layer_norm=lambda X: nn.LayerNorm(X.shape[-1], device=here())(X),
        layer_norm_cast=lambda X: nn.LayerNorm(X.shape[-1], dtype=X.dtype, device=here())(X),
        layer_norm_of=lambda X, number: nn.LayerNorm(number, device=here())(X),
        rms_norm=lambda X: nn.RMSNorm(X.shape[-1], dtype=X.dtype, device=here())(X),
        variance=torch.var,
        deviation=torch.std,
    ),
    "batch_norms": called(
        batch_norm=lambda X: batch_norm(X)[0],
        batch_norm_called=lambda X: batch_norm(X)[0],
        batch_norm_state=lambda X, **momentum: batch_norm(X, **momentum)[1:],
        batch_norm_forward=lambda X: batch_norm(X)[1],
    ),
    "activations": called(
        gelu=F.gelu,
        gelu_layer=fresh(nn.GELU),
        leaky_relu=F.leaky_relu,
        leaky_relu_layer=fresh(nn.LeakyReLU),
        prelu_layer=lambda X: nn.PReLU(device=here())(X),
        hard_sigmoid=F.hardsigmoid,
        elu=F.elu,
        softplus=F.softplus,
        relu=F.relu,
    ),
    "embeddings": called(
        embed=lambda ids, table: nn.Embedding.from_pretrained(table)(ids),
        embed_with_padding=embed_with_padding,
        fresh_padding_row=fresh_padding_row,
    ),
}
