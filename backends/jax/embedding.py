"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.errors import ShapeError
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dropout import Dropout
from .given import floats, look_up, token_ids
from .linear import broadcast
from .normalization import LayerNorm

# One float64 table for all modules of a size, which no module holds: it is neither a weight nor saved.
_table = lru_cache(maxsize=16)(sinusoid_table)


class PositionalEncoding(Called, nnx.Module):
    """P is a constant of the compiled program, rounded from float64 to the input's dtype."""

    def __init__(
        self,
        num_hiddens: int,
        dropout: float,
        max_len: int = 1000,
        *,
        layout: str = "interleaved",
        rngs: nnx.Rngs | None = None,
    ):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        self.dropout = Dropout(dropout, rngs=rngs)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        _table(max_len, num_hiddens, layout)  # refuses an odd width here, not at the first call

    @property
    def P(self) -> np.ndarray:
        return _table(self.max_len, self.num_hiddens, self.layout)

    def __call__(self, X: Array, offset: Any = 0) -> Array:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        check_room(offset, X.shape[1], self.max_len)
        return self.dropout(X + rows_at(self.P, offset, X.shape[1], X.dtype))


def check_room(offset: Any, steps: int, max_len: int) -> None:
    # In a compiled decoding loop the offset is no number yet; the loop's length was checked before it began.
    if not isinstance(offset, jax.core.Tracer) and jnp.ndim(offset) == 0:
        try:
            check_positions(int(offset), steps, max_len)
        except jax.core.InconclusiveDimensionOperation:  # jax.export leaves the size open
            raise ShapeError(
                f"A sequence must be known to be at most max_len = {max_len} tokens long, got {steps} of them: give "
                f"jax.export.symbolic_shape the constraint {steps} <= {max_len}."
            ) from None


def _places(start: Array, count: int) -> Array:
    """[count] from ``start`` on, or [B, count] of each row where that is [B]. Below 0 is padding."""
    return jnp.maximum(start[..., None] + jnp.arange(count), 0)


def rows_at(table: Any, start: Any, count: int, dtype: Any) -> Array:
    """The vectors of ``count`` positions, the first at ``start``; of each row, where that is [B]."""
    if isinstance(start, jax.core.Tracer) or jnp.ndim(start) == 1 or not isinstance(count, int):  # jax.export leaves it open
        # A traced number may be no position: beyond the last JAX' own lookup gives NaN, where a slice would begin earlier.
        return jnp.take(jnp.asarray(table, dtype), _places(jnp.asarray(start), count), axis=0)
    return jnp.asarray(table[int(start) : int(start) + count], dtype)


@jax.custom_jvp
def _taken(table: Array, ids: Array) -> Array:
    return jnp.take(table, ids, axis=0)


@_taken.defjvp
def _taken_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Any]) -> tuple[Array, Array]:
    """Differentiate in float32, and so does the transpose, which adds up the gradients of each row."""
    table, ids = primals
    return _taken(table, ids), jnp.take(tangents[0].astype(jnp.float32), ids, axis=0).astype(table.dtype)


class _Embed(nnx.Embed):
    """An nnx.Embed that adds up a row's gradient in float32: in two bytes JAX loses it where a token is frequent."""

    def __call__(self, inputs: Array) -> Array:
        table = self.embedding[...]
        return _taken(table, inputs) if table.dtype.itemsize == 2 else super().__call__(inputs)


class RelativeBias(_Embed):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(
        self,
        num_heads: int,
        bidirectional: bool,
        *,
        max_len: int,
        buckets: int,
        max_distance: int,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
    ):
        super().__init__(buckets, num_heads, param_dtype=param_dtype, rngs=rngs or nnx.Rngs(0))
        self.max_len, self.settings = max_len, (max_len, buckets, max_distance, bidirectional)

    def scores(self, T: Any, S: Any, first: Any = 0) -> Array:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        distances = jnp.arange(S) - (first + jnp.arange(T))[:, None]
        ids = jnp.take(jnp.asarray(relative_buckets(*self.settings)), distances + self.max_len, mode="clip")
        return self(ids).transpose(2, 0, 1)[None]


class SequenceEmbedding(Called, nnx.Module):
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
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
        **options: Unpack[EmbeddingOptions],
    ):
        chosen = Chosen(EmbeddingOptions, options, dropout)
        check_table(vocab_size, num_hiddens, chosen.max_len, chosen.padding_id)
        rngs = rngs or nnx.Rngs(0)
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs}
        self.max_len = chosen.max_len
        self.position_offset = chosen.position_offset
        self.norm_tokens = norm_tokens
        self.padding_id = chosen.padding_id
        self.scale = math.sqrt(num_hiddens) if chosen.embedding_scale else 1.0
        rows = chosen.max_len + chosen.position_offset
        self.embedding = _Embed(vocab_size, num_hiddens, **created)
        if chosen.padding_id is not None:
            # The pad row is zero and learns nothing; nnx.Embed has no padding_idx.
            self.embedding.embedding[chosen.padding_id] = 0.0
        self.pos_embedding = _Embed(rows, num_hiddens, **created) if chosen.position == "learned" else None
        sinusoidal, layout = chosen.position == "sinusoidal", chosen.sinusoid_layout
        self.pos_encoding = PositionalEncoding(num_hiddens, 0.0, rows, layout=layout) if sinusoidal else None
        self.type_embedding = _Embed(token_types, num_hiddens, **created) if token_types else None
        self.embedding_norm = LayerNorm(num_hiddens, **chosen.layer_norm, **created) if chosen.embedding_norm else None
        self.dropout = Dropout(chosen.embedding_dropout, rngs=rngs)

    def _normed(self, X: Array) -> Array:
        return X if self.embedding_norm is None else self.embedding_norm(X)

    def embed(
        self, tokens: Array, offset: Any = 0, token_types: Array | None = None, left_padding: Array | None = None
    ) -> Array:
        name = f"The input of {type(self).__name__}"
        tokens = token_ids(name, tokens, None, None)
        T = tokens.shape[1]
        check_room(offset, T, self.max_len)
        start = offset + self.position_offset - (0 if left_padding is None else left_padding)
        X = look_up(name, self.embedding, tokens)
        if self.padding_id is not None:
            X = jnp.where((tokens == self.padding_id)[..., None], jax.lax.stop_gradient(X), X)
        X = X * self.scale
        X = self._normed(X) if self.norm_tokens else X
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif self.pos_embedding is not None and left_padding is None:
            X = X + broadcast(rows_at(self.pos_embedding.embedding[...], start, T, X.dtype), X)
        elif self.pos_embedding is not None:
            X = X + self.pos_embedding(_places(start, T))
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None, X)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            table = self.type_embedding
            X = X + (broadcast(table.embedding[0], X) if token_types is None else look_up("token_types", table, token_types))
        return self.dropout(X if self.norm_tokens else self._normed(X))
