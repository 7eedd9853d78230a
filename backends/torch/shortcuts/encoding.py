"""A source of few tokens encoded on prepared layers."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from transformer_mb.decoding.through import through

from ..attention import length_mask
from ..encoder import EncoderBlock, TransformerEncoder
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
        X = _block(block, X, mask)
    return norm(encoder.norm)(X)


def _block(block: EncoderBlock, X: Tensor, mask: Tensor | None) -> Tensor:
    """[B, S, D] -> [B, S, D]."""
    ffn, norms = block.ffn, [norm(part.ln) for part in (block.addnorm1, block.addnorm2)]
    sublayers = (
        lambda X: _attend(block, X, mask),
        lambda X: ffn.dense2.forward(ffn.activation(ffn.dense1.forward(X))),
    )
    return through(X, sublayers, norms, block.addnorm1.pre)


def _attend(block: EncoderBlock, X: Tensor, mask: Tensor | None) -> Tensor:
    own, B = block.attention, len(X)
    q, k, v = (heads(part.forward(X), B, own.num_heads) for part in (own.W_q, own.W_k, own.W_v))
    return own.W_o.forward(attend(q, k, v, mask).transpose(1, 2).flatten(2))
