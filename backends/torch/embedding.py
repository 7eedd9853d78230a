"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Unpack

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dropout import Dropout
from .given import floats, look_up, token_ids
from .normalization import HALF, LayerNorm
from .shortcuts import is_watched


def _places(start: Tensor, count: int) -> Tensor:
    """[..., count]: the positions from ``start`` on, of each row where that is [B]. Below 0 is padding."""
    return (start[..., None] + torch.arange(count, device=start.device)).clamp(min=0)


def _is_read(table: nn.Module) -> bool:
    """Tell whether a slice of its weight says what its call would, with no hook on it."""
    return type(table) is Embedding and not is_watched(table)


class PositionalEncoding(Called, nn.Module):
    """P is no parameter and is never saved; it is made anew when the input's dtype or device changes."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        super().__init__()
        self.dropout = Dropout(dropout)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        self.P = self._table()

    def forward(self, X: Tensor, offset: int | Tensor = 0) -> Tensor:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        if isinstance(offset, int):  # of a tensor, a position that is not there is an error of the device
            check_positions(offset, X.shape[1], self.max_len)
        self._match(X)
        T = X.shape[1]
        return self.dropout(X + self.P[_places(offset, T) if isinstance(offset, Tensor) else slice(offset, offset + T)])

    def _match(self, X: Tensor) -> None:
        self.P = matched(self.P, X.dtype, X.device, lambda: self._table().to(X.device, X.dtype))

    def _table(self) -> Tensor:
        # From float64 each time: a table that was once rounded to bfloat16 stays so.
        return torch.as_tensor(sinusoid_table(self.max_len, self.num_hiddens, self.layout))


def matched(table: Tensor | None, dtype: torch.dtype, device: torch.device, make: Callable[[], Tensor]) -> Tensor:
    """The table itself, or one that is made of this dtype and where this device is."""
    if table is not None and table.dtype == dtype and table.device == device:
        return table
    # What is made once is no part of a trace: torch.jit.trace traces twice, and compares.
    trace = torch._C._get_tracing_state() if torch.jit.is_tracing() else None
    if trace is not None:
        torch._C._set_tracing_state(None)  # type: ignore[attr-defined]
    made = make()
    if trace is not None:
        torch._C._set_tracing_state(trace)  # type: ignore[attr-defined]
    return made


class Embedding(nn.Embedding):
    """nn.Embedding, but a row's gradient is added up in float32: in two bytes it is lost where a token is frequent."""

    def forward(self, ids: Tensor) -> Tensor:
        if self.weight.dtype in HALF and torch.is_grad_enabled():
            return F.embedding(ids, self.weight.float(), self.padding_idx).to(self.weight.dtype)
        return super().forward(ids)


class RelativeBias(Called, Embedding):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(self, num_heads: int, bidirectional: bool, *, max_len: int, buckets: int, max_distance: int):
        super().__init__(buckets, num_heads)
        self.max_len, self.settings = max_len, (max_len, buckets, max_distance, bidirectional)
        self.buckets = torch.tensor(relative_buckets(*self.settings))

    def scores(self, T: int, S: int, first: int = 0) -> Tensor:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        self._match(self.weight)
        places = torch.arange(S, device=self.weight.device)
        distances = places - (first + torch.arange(T, device=self.weight.device))[:, None]
        return self(self.buckets[distances + self.max_len]).permute(2, 0, 1)[None]

    def _match(self, X: Tensor) -> None:
        if self.buckets.device != X.device:
            self.buckets = torch.tensor(relative_buckets(*self.settings), device=X.device)


class SequenceEmbedding(Called, nn.Module):
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
        rows = chosen.max_len + chosen.position_offset
        self.embedding = Embedding(vocab_size, num_hiddens, padding_idx=chosen.padding_id)
        self.pos_embedding = Embedding(rows, num_hiddens) if chosen.position == "learned" else None
        self.pos_encoding = None
        if chosen.position == "sinusoidal":
            self.pos_encoding = PositionalEncoding(num_hiddens, 0.0, rows, layout=chosen.sinusoid_layout)
        self.type_embedding = Embedding(token_types, num_hiddens) if token_types else None
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
        X = look_up(name, self.embedding, tokens) * self.scale
        X = self._normed(X) if self.norm_tokens else X
        table = self.pos_embedding
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif table is not None:
            X = X + (
                table.weight[start : start + T]
                if left_padding is None and _is_read(table)
                else table(_places(torch.as_tensor(start, device=X.device), T))
            )
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None, tokens)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            table = self.type_embedding
            if token_types is None and not _is_read(table):
                token_types = torch.zeros_like(tokens)
            X = X + (table.weight[0] if token_types is None else look_up("token_types", table, token_types))
        return self.dropout(X if self.norm_tokens else self._normed(X))
