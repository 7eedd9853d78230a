"""The encoder in one go, past its layers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import paddle.nn.functional as F
from paddle import Tensor

from transformer_mb.decoding.through import through

from ..attention import MultiHeadAttention
from ..encoder import EncoderBlock, TransformerEncoder
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
    ffn, norms = block.ffn, [norm(part.ln, X.dtype) for part in (block.addnorm1, block.addnorm2)]
    sublayers = (
        lambda X: _attend(block.attention, X, S, hidden),
        lambda X: product(ffn.dense2)(ffn.activation(product(ffn.dense1)(X))),
    )
    return through(X, sublayers, norms, block.addnorm1.pre)


def _attend(attention: MultiHeadAttention, X: Tensor, S: int, hidden: Hidden | None) -> Tensor:
    heads = [-1, S, attention.num_heads, X.shape[1] // attention.num_heads]
    queries, keys, values = (swap_axes(reshape(part, heads)) for part in projections(attention)(X))
    queries = queries * (1.0 / math.sqrt(heads[-1]))
    if hidden is not None:
        values = values * hidden.values
    Y = attend(queries, keys, values, None if hidden is None else hidden.scores)
    return product(attention.W_o)(reshape(swap_axes(Y), X.shape))
