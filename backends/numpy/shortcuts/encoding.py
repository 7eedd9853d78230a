"""A source encoded without asking each layer: checks and memories take Python longer than a short sentence's sums."""

from __future__ import annotations

import math

import numpy as np

from transformer_mb.decoding.through import through

from ..attention import MultiHeadAttention
from ..encoder import EncoderBlock, TransformerEncoder
from .prepared_layers import added, attend, heads, norm, product, within


def encode(encoder: TransformerEncoder, source: np.ndarray, valid_lens: np.ndarray) -> np.ndarray:
    """What ``encoder(source, valid_lens)`` gives, [B, S, D], of a plain encoder in evaluation mode."""
    X = encoder.embed(source)
    B, S, D = X.shape
    seen = within(valid_lens, S)
    mask = added(seen, X.dtype)
    X = X.reshape(B * S, D)
    for block in encoder.blks:
        X = _block(block, X, B, seen, mask)
    return norm(encoder.norm, X.dtype)(X).reshape(B, S, D)


def _block(block: EncoderBlock, X: np.ndarray, B: int, seen: np.ndarray | None, mask: np.ndarray | None) -> np.ndarray:
    """[B * S, D] -> [B * S, D]."""
    norms = [norm(part.ln, X.dtype) for part in (block.addnorm1, block.addnorm2)]
    dense1, dense2 = product(len(X), block.ffn.dense1), product(len(X), block.ffn.dense2)
    sublayers = (
        lambda X: _attend(block.attention, X, B, seen, mask),
        lambda X: dense2(block.ffn.activation.value(dense1(X))[0]),
    )
    return through(X, sublayers, norms, block.addnorm1.pre)


def _attend(layer: MultiHeadAttention, X: np.ndarray, B: int, seen: np.ndarray | None, mask: np.ndarray | None) -> np.ndarray:
    parts = heads(len(X), layer.num_heads, layer.W_q, layer.W_k, layer.W_v)(X)
    q, k, v = (part.reshape(B, -1, *part.shape[1:]).swapaxes(1, 2) for part in parts)  # [B, H, S, D/H]
    q *= 1.0 / math.sqrt(q.shape[-1])
    if seen is not None:  # so that a source without any token adds nothing
        v *= seen.swapaxes(-1, -2)
    return product(len(X), layer.W_o)(attend(q, k, v, mask).swapaxes(1, 2).reshape(len(X), -1))
