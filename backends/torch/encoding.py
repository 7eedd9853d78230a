"""A source of few tokens encoded on prepared layers."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from .attention import length_mask
from .encoder import EncoderBlock, TransformerEncoder
from .prepared_layers import attend, heads, is_plain, norm

FEW_TOKENS = 64  # with more of them what the layers compute takes longer than what they ask


def encode(encoder: TransformerEncoder, source: Tensor, valid_lens: Tensor) -> Tensor:
    """``encoder(source, valid_lens)`` of a checked source [B, S] in evaluation: [B, S, D]."""
    if source.numel() > FEW_TOKENS or not is_plain(encoder):
        return encoder(source, valid_lens)
    B, S = source.shape
    X = F.embedding(source, encoder.embedding.weight) * encoder.scale
    if encoder.pos_encoding is not None:
        encoder.pos_encoding._match(X)
    table = encoder.pos_embedding.weight if encoder.pos_encoding is None else encoder.pos_encoding.P
    X = X + table[encoder.position_offset : encoder.position_offset + S]
    if encoder.type_embedding is not None:
        X = X + encoder.type_embedding.weight[0]  # without token types every token is of type 0
    X = norm(encoder.embedding_norm)(X)
    mask = length_mask(valid_lens, (B, 1, S, S), X) if bool((valid_lens < S).any()) else None
    for block in encoder.blks:
        X = _step(block, X, mask)
    return norm(encoder.norm)(X)


def _step(block: EncoderBlock, X: Tensor, mask: Tensor | None) -> Tensor:
    """[B, S, D] -> [B, S, D]."""
    ffn, norm1, norm2 = block.ffn, norm(block.addnorm1.ln), norm(block.addnorm2.ln)
    if block.addnorm1.pre:
        X = X + _attend(block, norm1(X), mask)
        return X + ffn.dense2.forward(ffn.activation(ffn.dense1.forward(norm2(X))))
    X = norm1(X + _attend(block, X, mask))
    return norm2(X + ffn.dense2.forward(ffn.activation(ffn.dense1.forward(X))))


def _attend(block: EncoderBlock, X: Tensor, mask: Tensor | None) -> Tensor:
    own, B = block.attention, len(X)
    q, k, v = (heads(part.forward(X), B, own.num_heads) for part in (own.W_q, own.W_k, own.W_v))
    return own.W_o.forward(attend(q, k, v, mask).transpose(1, 2).flatten(2))
