"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dropout import Dropout
from .framework import Embedding, Layer
from .given import floats, look_up, token_ids
from .normalization import LayerNorm


def _rows(table: np.ndarray, start: int | np.ndarray, count: int) -> np.ndarray:
    """The vectors of ``count`` positions, the first at ``start``; of each row, where that is [B]. Below 0 is padding."""
    if isinstance(start, np.ndarray):
        return table[np.maximum(start[:, None] + np.arange(count), 0)]
    return table[start : start + count]


class PositionalEncoding(Layer):
    """P is no parameter and is never saved; it is made anew when the input's dtype changes."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        self.dropout = Dropout(dropout)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        self.P = sinusoid_table(max_len, num_hiddens, layout)

    def forward(self, X: np.ndarray, offset: int | np.ndarray = 0) -> np.ndarray:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        check_positions(offset, X.shape[1], self.max_len)
        return self.dropout(X + _rows(self._table(X), offset, X.shape[1]))

    def _table(self, like: np.ndarray) -> np.ndarray:
        """[max_len, D] in the dtype of ``like``, made anew where it is another."""
        if self.P.dtype != like.dtype:
            self.P = sinusoid_table(self.max_len, self.num_hiddens, self.layout).astype(like.dtype)
        return self.P

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return self.dropout.backward(gradient)


class RelativeBias(Embedding):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(self, num_heads: int, bidirectional: bool, *, max_len: int, buckets: int, max_distance: int):
        super().__init__(buckets, num_heads)
        self.max_len = max_len
        self.buckets = relative_buckets(max_len, buckets, max_distance, bidirectional)

    def scores(self, T: int, S: int, first: int = 0) -> np.ndarray:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        distances = np.arange(S) - (first + np.arange(T))[:, None]
        return self(self.buckets[distances + self.max_len]).transpose(2, 0, 1)[None]

    def scores_backward(self, gradient: np.ndarray) -> None:
        self.backward(np.ascontiguousarray(gradient[0].transpose(1, 2, 0)))


class SequenceEmbedding(Layer):
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

    def _normed(self, X: np.ndarray) -> np.ndarray:
        return X if self.embedding_norm is None else self.embedding_norm(X)

    def embed(
        self,
        tokens: np.ndarray,
        offset: int = 0,
        token_types: np.ndarray | None = None,
        left_padding: np.ndarray | None = None,
    ) -> np.ndarray:
        name = f"The input of {type(self).__name__}"
        tokens = token_ids(name, tokens, None, None)
        T = tokens.shape[1]
        check_positions(offset, T, self.max_len)
        start = offset + self.position_offset - (0 if left_padding is None else left_padding)
        X = look_up(name, self.embedding, tokens)
        X *= self.scale
        X = self._normed(X) if self.norm_tokens else X
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif self.pos_embedding is not None:
            X = X + _rows(self.pos_embedding.weight.value, start, T)
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None, None)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            types = np.zeros_like(tokens) if token_types is None else token_types
            X += look_up("token_types", self.type_embedding, types)
        self.remember(start, T)
        return self.dropout(X if self.norm_tokens else self._normed(X))

    def embed_backward(self, gradient: np.ndarray) -> None:
        start, T = self.recall()
        gradient = self.dropout.backward(gradient)
        if not self.norm_tokens:
            gradient = self._normed_backward(gradient)
        if self.type_embedding is not None:
            self.type_embedding.backward(gradient)
        if self.pos_encoding is not None:
            gradient = self.pos_encoding.backward(gradient)
        elif self.pos_embedding is not None:
            self.pos_embedding.weight.accumulate(gradient.sum(axis=0), slice(start, start + T))
        if self.norm_tokens:
            gradient = self._normed_backward(gradient)
        self.embedding.backward(gradient * self.scale)

    def _normed_backward(self, gradient: np.ndarray) -> np.ndarray:
        return gradient if self.embedding_norm is None else self.embedding_norm.backward(gradient)
