"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from typing import Any, Unpack

import mlx.core as mx
import numpy

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dropout import Dropout
from .framework import Embedding, Module
from .given import floats, look_up, token_ids
from .normalization import LayerNorm


def _places(start: Any, count: int) -> numpy.ndarray:
    """[count] from ``start`` on, or [B, count] of each row where that is [B]. Below 0 is padding."""
    return numpy.maximum(numpy.asarray(start)[..., None] + numpy.arange(count), 0)


class PositionalEncoding(Module):
    """P is no parameter and is never saved; it is rounded from float64 to the input's dtype at each call."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        self.dropout = Dropout(dropout)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        self.P = sinusoid_table(max_len, num_hiddens, layout)

    def forward(self, X: Any, offset: Any = 0) -> Any:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        check_positions(offset, X.shape[1], self.max_len)
        return self.dropout(X + mx.array(self.P[_places(offset, X.shape[1])], X.dtype))


class RelativeBias(Embedding):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(self, num_heads: int, bidirectional: bool, *, max_len: int, buckets: int, max_distance: int):
        super().__init__(buckets, num_heads)
        self.settings = (max_len, buckets, max_distance, bidirectional)

    def scores(self, T: int, S: int, first: int = 0) -> Any:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        distances = numpy.arange(S) - (first + numpy.arange(T))[:, None]
        return mx.transpose(self(relative_buckets(*self.settings)[distances + self.settings[0]]), (2, 0, 1))[None]


class SequenceEmbedding(Module):
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
        chosen = Chosen(EmbeddingOptions, options, dropout)
        check_table(vocab_size, num_hiddens, chosen.max_len, chosen.padding_id)
        self.max_len = chosen.max_len
        self.position_offset = chosen.position_offset
        self.norm_tokens = norm_tokens
        self.scale = math.sqrt(num_hiddens) if chosen.embedding_scale else 1.0
        rows = chosen.max_len + chosen.position_offset
        self.embedding = Embedding(vocab_size, num_hiddens, chosen.padding_id)
        self.pos_embedding = Embedding(rows, num_hiddens) if chosen.position == "learned" else None
        self.pos_encoding = None
        if chosen.position == "sinusoidal":
            self.pos_encoding = PositionalEncoding(num_hiddens, 0.0, rows, layout=chosen.sinusoid_layout)
        self.type_embedding = Embedding(token_types, num_hiddens) if token_types else None
        self.embedding_norm = LayerNorm(num_hiddens, **chosen.layer_norm) if chosen.embedding_norm else None
        self.dropout = Dropout(chosen.embedding_dropout)

    def _normed(self, X: Any) -> Any:
        return X if self.embedding_norm is None else self.embedding_norm(X)

    def embed(self, tokens: Any, offset: Any = 0, token_types: Any = None, left_padding: Any = None) -> Any:
        name = f"The input of {type(self).__name__}"
        tokens = token_ids(name, tokens, None)
        T = tokens.shape[1]
        check_positions(offset, T, self.max_len)
        start = offset + self.position_offset - (0 if left_padding is None else left_padding)
        X = look_up(name, self.embedding, tokens) * self.scale
        X = self._normed(X) if self.norm_tokens else X
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif self.pos_embedding is not None:
            X = X + self.pos_embedding(_places(start, T))
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            types = numpy.zeros_like(tokens) if token_types is None else token_types
            X = X + look_up("token_types", self.type_embedding, types)
        return self.dropout(X if self.norm_tokens else self._normed(X))
