"""The encoder in one go, past its layers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import paddle.nn.functional as F
from paddle import Tensor

from .encoder import EncoderBlock, TransformerEncoder
from .prepared_layers import Hidden, attend, norm, positions, product, projections, reshape, swap_axes


def encode(encoder: TransformerEncoder, source: Tensor, hidden: Hidden | None) -> Tensor:
    """[B, S] -> [B, S, D], what the encoder itself gives."""
    B, S = source.shape
    start = encoder.position_offset
    X = F.embedding(source, encoder.embedding.weight) * encoder.scale + positions(encoder)[start : start + S]
    if encoder.type_embedding is not None:
        X = X + encoder.type_embedding.weight[0]
    dtype = X.dtype
    X = norm(encoder.embedding_norm, dtype)(reshape(X, [B * S, -1]))
    blocks: Iterable[Any] = encoder.blks
    for block in blocks:
        X = _block(block, X, S, hidden)
    return reshape(norm(encoder.norm, dtype)(X), [B, S, -1])


def _block(block: EncoderBlock, X: Tensor, S: int, hidden: Hidden | None) -> Tensor:
    """[B * S, D] -> [B * S, D]."""
    attention, ffn, pre = block.attention, block.ffn, block.addnorm1.pre
    norm1, norm2 = norm(block.addnorm1.ln, X.dtype), norm(block.addnorm2.ln, X.dtype)
    heads = [-1, S, attention.num_heads, X.shape[1] // attention.num_heads]
    queries, keys, values = (swap_axes(reshape(part, heads)) for part in projections(attention)(norm1(X) if pre else X))
    queries = queries * (1.0 / math.sqrt(heads[-1]))
    if hidden is not None:
        values = values * hidden.values
    Y = attend(queries, keys, values, None if hidden is None else hidden.scores)
    X = X + product(attention.W_o)(reshape(swap_axes(Y), X.shape))
    X = X if pre else norm1(X)
    X = X + product(ffn.dense2)(ffn.activation(product(ffn.dense1)(norm2(X) if pre else X)))
    return X if pre else norm2(X)
