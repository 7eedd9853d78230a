"""paddle.nn's layers, and the functions of paddle.nn.functional for attention, softmax and activations."""

from __future__ import annotations

from typing import Any

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as F

from ..calls import Table
from .arrays import called, gradient


def attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Any = None, causal: bool = False, rate: float = 0.0
) -> Tensor:
    mask = None if mask is None else mask[None, None]
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=rate, is_causal=causal)


def attention_with_dropout(queries: Tensor, keys: Tensor, values: Tensor, rate: float) -> Tensor:
    class Model(nn.Layer):
        def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            return attention(queries, keys, values, rate=rate)

    paddle.seed(0)
    model = Model()
    model.eval()
    return model(queries, keys, values)


def _identity_attention(size: int, heads: int = 1, rate: float = 0.0, weights: bool = False) -> Any:
    """Make a layer whose projections are the identity."""
    paddle.seed(0)
    layer = nn.MultiHeadAttention(size, heads, dropout=rate, need_weights=weights, bias_attr=False)
    for part in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
        part.weight.set_value(paddle.eye(size))
    return layer


def multi_head_attention(
    *arrays: Tensor, heads: int = 1, rate: float = 0.0, training: bool = False, weights: bool = False
) -> Tensor:
    queries, keys, values, *mask = arrays
    layer = _identity_attention(queries.shape[-1], heads, rate, weights)
    layer.train() if training else layer.eval()
    output = layer(queries, keys, values, attn_mask=mask[0][None, None] if mask else None)
    return output[0] if weights else output


def encoder(X: Tensor, lengths: Tensor) -> Tensor:
    paddle.seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(X.shape[-1], nhead=2, dim_feedforward=8), 1)
    model.eval()
    within = paddle.arange(X.shape[1]) < lengths[:, None]
    return model(X, src_mask=within[:, None, None])


def rms_norm(X: Tensor) -> Tensor:
    sizes = [X.shape[-1]]
    return F.rms_norm(X, sizes, paddle.ones(sizes, dtype=X.dtype))[0]


def batch_norm(X: Tensor, **options: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output, running mean and running variance of a new layer, which is in training mode."""
    layer = nn.BatchNorm1D(X.shape[1], **options)
    return layer(X), layer._mean, layer._variance


def _embedding(table: Tensor, **options: Any) -> Any:
    layer = nn.Embedding(*table.shape, **options)
    layer.weight.set_value(table)
    return layer


def embed_with_padding(ids: Tensor, table: Tensor, padding: int) -> tuple[Tensor, Any]:
    layer = _embedding(table, padding_idx=padding)
    output = layer(ids)
    output.sum().backward()
    return output, layer.weight.grad


def fresh_padding_row(rows: int, size: int, padding: int) -> Tensor:
    paddle.seed(0)
    return nn.Embedding(rows, size, padding_idx=padding).weight[padding]


TABLES: dict[str, Table] = {
    "attention": called(
        attention=attention,
        attention_gradients=gradient(attention, of=3),
        attention_with_dropout=attention_with_dropout,
        multi_head_attention=multi_head_attention,
        fresh_multi_head_attention=lambda Q, K, V, rate: _identity_attention(Q.shape[-1], rate=rate)(Q, K, V),
        encoder=encoder,
    ),
    "softmax": called(
        softmax=F.softmax,
        masked_softmax="Paddle's masked softmax adds the numbers that it is given.",
        linear=F.linear,
    ),
    "norms": called(
        layer_norm=lambda X: nn.LayerNorm(X.shape[-1])(X),
        layer_norm_cast=lambda X: nn.LayerNorm(X.shape[-1], dtype=X.dtype)(X),
        layer_norm_of=lambda X, number: nn.LayerNorm(number)(X),
        rms_norm=rms_norm,
        variance=paddle.var,
        deviation=paddle.std,
    ),
    "batch_norms": called(
        batch_norm=lambda X: batch_norm(X)[0],
        batch_norm_called=lambda X: batch_norm(X)[0],
        batch_norm_state=lambda X, **momentum: batch_norm(X, **momentum)[1:],
        batch_norm_forward=lambda X: batch_norm(X)[1],
    ),
    "activations": called(
        gelu=F.gelu,
        gelu_layer=lambda X: nn.GELU()(X),
        leaky_relu=F.leaky_relu,
        leaky_relu_layer=lambda X: nn.LeakyReLU()(X),
        prelu_layer=lambda X: nn.PReLU()(X),
        hard_sigmoid=F.hardsigmoid,
        elu=F.elu,
        softplus=F.softplus,
        relu=F.relu,
    ),
    "embeddings": called(
        embed=lambda ids, table: _embedding(table)(ids),
        embed_with_padding=embed_with_padding,
        fresh_padding_row=fresh_padding_row,
    ),
}
