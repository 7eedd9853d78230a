"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np
import paddle
from paddle import Tensor, nn
from paddle.nn import functional as F

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dropout import Dropout
from .given import floats, known_sizes, look_up, token_ids
from .linear import without_row
from .normalization import LayerNorm


def _rows(table: Tensor, start: int | Tensor, count: int) -> Tensor:
    """The vectors of ``count`` positions, the first at ``start``; of each row, where that is [B]. Below 0 is padding."""
    if isinstance(start, Tensor):
        return F.embedding((start.unsqueeze(1) + paddle.arange(count, dtype=start.dtype)).clip(min=0), table)
    return table[start : start + count]


class PositionalEncoding(Called, nn.Layer):
    """P is no parameter and is never saved; it is made anew when the input's dtype or device changes."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        super().__init__()
        self.dropout = Dropout(dropout)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        # In a tuple, because a tensor would become a buffer, which to(dtype) rounds.
        self.table = (paddle.to_tensor(sinusoid_table(max_len, num_hiddens, layout)),)

    @property
    def P(self) -> Tensor:
        return self.table[0]

    def forward(self, X: Tensor, offset: int | Tensor = 0) -> Tensor:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        known_sizes("The input of PositionalEncoding", X)
        if isinstance(offset, int):  # of a tensor, a position that is not there is an error of the device
            check_positions(offset, X.shape[1], self.max_len)
        return self.dropout(X + self._positions(X, offset, X.shape[1]))

    def _positions(self, X: Tensor, offset: int | Tensor, count: int) -> Tensor:
        """Rows of P, in a program a constant: it saves no tensors but parameters and buffers."""
        if paddle.in_dynamic_mode():
            self._match(X)
            return _rows(self.P, offset, count)
        table = sinusoid_table(self.max_len, self.num_hiddens, self.layout)
        if isinstance(offset, int):  # a program spells its constants: those rows alone
            return paddle.assign(table[offset : offset + count]).astype(X.dtype)
        return _rows(paddle.assign(table).astype(X.dtype), offset, count)

    def _match(self, X: Tensor) -> None:
        if self.P.dtype != X.dtype or self.P.place != X.place:
            # From float64 each time: a table that was once rounded to bfloat16 stays so.
            self.table = (paddle.to_tensor(sinusoid_table(self.max_len, self.num_hiddens, self.layout), X.dtype, X.place),)


class RelativeBias(nn.Embedding):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(self, num_heads: int, bidirectional: bool, *, max_len: int, buckets: int, max_distance: int):
        super().__init__(buckets, num_heads)
        self.max_len = max_len
        self.buckets = relative_buckets(max_len, buckets, max_distance, bidirectional)

    def scores(self, T: int, S: int, first: int = 0) -> Tensor:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        distances = np.arange(S) - (first + np.arange(T))[:, None]
        ids = paddle.to_tensor(self.buckets[distances + self.max_len])
        return self(ids).transpose([2, 0, 1]).unsqueeze(0)


class SequenceEmbedding(Called, nn.Layer):
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
        self.scale = math.sqrt(num_hiddens) if chosen.embedding_scale else 1.0
        self.padding_id = chosen.padding_id
        rows = chosen.max_len + chosen.position_offset
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        if self.padding_id is not None:
            with paddle.no_grad():
                self.embedding.weight[self.padding_id] = 0.0
        self.pos_embedding = nn.Embedding(rows, num_hiddens) if chosen.position == "learned" else None
        self.pos_encoding = None
        if chosen.position == "sinusoidal":
            self.pos_encoding = PositionalEncoding(num_hiddens, 0.0, rows, layout=chosen.sinusoid_layout)
        self.type_embedding = nn.Embedding(token_types, num_hiddens) if token_types else None
        self.embedding_norm = LayerNorm(num_hiddens, **chosen.layer_norm) if chosen.embedding_norm else None
        self.dropout = Dropout(chosen.embedding_dropout)

    def _normed(self, X: Tensor) -> Tensor:
        return X if self.embedding_norm is None else self.embedding_norm(X)

    def embed(
        self, tokens: Tensor, offset: int = 0, token_types: Tensor | None = None, left_padding: Tensor | None = None
    ) -> Tensor:
        name = f"The input of {type(self).__name__}"
        tokens = token_ids(name, tokens, None, getattr(self.embedding, "weight", None))
        T = tokens.shape[1]
        check_positions(offset, T, self.max_len)
        start = offset + self.position_offset - (0 if left_padding is None else left_padding)
        if _is_read(self.embedding):
            X = look_up(name, without_row(self.embedding.weight, self.padding_id), tokens) * self.scale
        else:
            X = self.embedding(tokens) * self.scale
        X = self._normed(X) if self.norm_tokens else X
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif self.pos_embedding is not None:
            X = X + _rows(self.pos_embedding.weight, start, T)
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None, X)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            table = self.type_embedding
            X = X + (table.weight[0] if token_types is None else look_up("token_types", table.weight, token_types))
        return self.dropout(X if self.norm_tokens else self._normed(X))


def _is_read(table: nn.Layer) -> bool:
    """Tell whether its weight says what its call would, with no hook on it."""
    own = vars(table)
    watched = own["_forward_pre_hooks"] or own["_forward_post_hooks"] or "forward" in own
    return type(table) is nn.Embedding and not watched
