"""Paddle's own layers, called with the inputs that every subject of a pair takes by name."""

import paddle
from paddle import nn


def inside(lens, size):
    """True [B, 1, 1, size] at the positions before ``lens`` [B], which Paddle's attention keeps."""
    return (paddle.arange(size) < lens.astype("int64").unsqueeze(-1)).unsqueeze([1, 2])


class Attention(nn.MultiHeadAttention):
    """``paddle.nn.MultiHeadAttention``. x [B, T, D], memory [B, S, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4):
        super().__init__(size, heads)

    def forward(self, x, memory, lens):
        return super().forward(x, memory, memory, attn_mask=inside(lens, memory.shape[1]))


class EncoderLayer(nn.TransformerEncoderLayer):
    """``paddle.nn.TransformerEncoderLayer``. x [B, T, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, hidden=24):
        super().__init__(size, heads, hidden, dropout=0.0, activation="gelu", normalize_before=True, layer_norm_eps=1e-5)

    def forward(self, x, lens):
        return super().forward(x, src_mask=inside(lens, x.shape[1]))


class Table(nn.Embedding):
    """``paddle.nn.Embedding`` that reads row 0 like any other. ids [B, T] int -> [B, T, D]."""

    def __init__(self, rows=11, size=6):
        super().__init__(rows, size)

    def forward(self, ids):
        return super().forward(ids)
