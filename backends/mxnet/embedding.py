"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Unpack

import mxnet as mx
import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dropout import Dropout
from .given import as_int64, floats, look_up, token_ids
from .normalization import LayerNorm
from .shim import Block


def _rows(table: mnp.ndarray, start: int | mnp.ndarray, count: int) -> mnp.ndarray:
    """The vectors of ``count`` positions, the first at ``start``; of each row, where that is [B]. Below 0 is padding."""
    if isinstance(start, mnp.ndarray):
        start = as_int64(start)
        positions = mnp.expand_dims(start, 1) + mnp.arange(count, dtype=start.dtype, ctx=start.ctx)
        return table.take(positions, axis=0, mode="clip")
    # An operator, which ``shortcuts.tape.compiled`` sees.
    return npx.slice(table, begin=(start,), end=(start + count,))


class PositionalEncoding(Block):
    """P is no parameter and is never saved; it is made anew when the input's dtype or context changes."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        super().__init__()
        self.dropout = Dropout(dropout)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        self.P = mnp.array(sinusoid_table(max_len, num_hiddens, layout), dtype="float32")

    def forward(self, X: mnp.ndarray, offset: int | mnp.ndarray = 0) -> mnp.ndarray:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        if isinstance(offset, int):  # MXNet takes the last position where one is not there
            check_positions(offset, X.shape[1], self.max_len)
        if self.P.dtype != X.dtype or self.P.ctx != X.ctx:
            self.P = mnp.array(sinusoid_table(self.max_len, self.num_hiddens, self.layout), dtype=X.dtype, ctx=X.ctx)
        P = _rows(self.P, offset, X.shape[1])
        if autograd.is_recording():
            P = mnp.broadcast_to(P, X.shape)  # the backward of a broadcasting sum takes ten times as long
        return self.dropout(X + P)


@lru_cache(maxsize=256)
def _ids(T: int, S: int, first: int, settings: tuple[int, int, int, bool], context: mx.Context) -> mnp.ndarray:
    """Kept, since what ``shortcuts.tape`` compiles reads the same arrays each time."""
    distances = np.arange(S) - (first + np.arange(T))[:, None]
    with autograd.pause():
        return mnp.array(relative_buckets(*settings)[distances + settings[0]], dtype="int64", ctx=context)


class RelativeBias(nn.Embedding):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(self, num_heads: int, bidirectional: bool, *, max_len: int, buckets: int, max_distance: int):
        super().__init__(buckets, num_heads)
        self.settings = (max_len, buckets, max_distance, bidirectional)

    def scores(self, T: int, S: int, first: int = 0) -> mnp.ndarray:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        ids = _ids(T, S, first, self.settings, self.weight.list_ctx()[0])
        return mnp.expand_dims(mnp.transpose(self(ids), (2, 0, 1)), axis=0)


@mx.init.register
class _RowOfZeros(mx.init.Initializer):
    """The initializer that a model is given, but for one row of zeros: gluon's Embedding has no padding_idx."""

    def __init__(self, row: int):
        super().__init__(row=row)
        self.row = row

    def _init_weight(self, name: mx.init.InitDesc, arr: mnp.ndarray) -> None:
        name.global_init._init_weight(name, arr)
        arr[self.row] = 0.0


class SequenceEmbedding(Block):
    """The parts that encoder and decoder share: token ids [B, T] to vectors [B, T, D].

    ``norm_tokens``: their norm comes before positions are added.
    """

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        dropout: float,
        *,
        token_types: int = 0,
        norm_tokens: bool = False,
        **options: Unpack[EmbeddingOptions],
    ):
        super().__init__()
        chosen = Chosen(EmbeddingOptions, options, dropout)
        check_table(vocab_size, num_hiddens, chosen.max_len, chosen.padding_id)
        self.max_len = chosen.max_len
        self.position_offset = chosen.position_offset
        self.norm_tokens = norm_tokens
        self.padding_id = chosen.padding_id
        self.scale = math.sqrt(num_hiddens) if chosen.embedding_scale else 1.0
        rows = chosen.max_len + chosen.position_offset
        first = None if chosen.padding_id is None else _RowOfZeros(int(chosen.padding_id))
        self.embedding = nn.Embedding(vocab_size, num_hiddens, weight_initializer=first)
        self.pos_embedding = nn.Embedding(rows, num_hiddens) if chosen.position == "learned" else None
        self.pos_encoding = None
        if chosen.position == "sinusoidal":
            self.pos_encoding = PositionalEncoding(num_hiddens, 0.0, rows, layout=chosen.sinusoid_layout)
        self.type_embedding = nn.Embedding(token_types, num_hiddens) if token_types else None
        self.embedding_norm = LayerNorm(num_hiddens, **chosen.layer_norm) if chosen.embedding_norm else None
        self.dropout = Dropout(chosen.embedding_dropout)

    def _normed(self, X: mnp.ndarray) -> mnp.ndarray:
        return X if self.embedding_norm is None else self.embedding_norm(X)

    def embed(
        self,
        tokens: mnp.ndarray,
        offset: int = 0,
        token_types: mnp.ndarray | None = None,
        left_padding: mnp.ndarray | None = None,
    ) -> mnp.ndarray:
        name = f"The input of {type(self).__name__}"
        tokens = token_ids(name, tokens, None, self.embedding.weight)
        T = tokens.shape[1]
        check_positions(offset, T, self.max_len)
        start = offset + self.position_offset - (0 if left_padding is None else left_padding)
        X = look_up(name, self.embedding, tokens)
        if self.padding_id is not None:
            # gluon's embedding has no padding row: its values stay, its gradient stops.
            padding = mnp.expand_dims(npx.cast(tokens == self.padding_id, dtype=X.dtype), axis=-1)
            with autograd.pause():
                held = X * padding
            X = X * (1.0 - padding) + held
        X = X * self.scale
        X = self._normed(X) if self.norm_tokens else X
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif self.pos_embedding is not None:
            X = X + _rows(self.pos_embedding.weight.data(), start, T)
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None, X)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            table = self.type_embedding
            first = token_types is None
            X = X + (_rows(table.weight.data(), 0, 1) if first else look_up("token_types", table, token_types))
        return self.dropout(X if self.norm_tokens else self._normed(X))
