"""Embedding of token ids as vectors: embeddings, positions, and what other variants add."""

from __future__ import annotations

import math
from typing import Any, Unpack

import keras
import tensorflow as tf

from transformer_mb.checks import check_features, check_positions, check_types
from transformer_mb.config import check_choice, check_sizes, check_table
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import Chosen, EmbeddingOptions
from transformer_mb.positions import relative_buckets, sinusoid_table

from .dense import plus
from .dropout import Dropout
from .given import floats, look_up, token_ids
from .normalization import LayerNorm


@keras.saving.register_keras_serializable("transformer_mb")
class PositionalEncoding(Called, keras.layers.Layer):
    """P is no parameter and is never saved; it is made anew when the input's dtype changes."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved", **kwargs: Any):
        check_choice("sinusoid_layout", layout)
        check_sizes(num_hiddens=num_hiddens, max_len=max_len)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.autocast = False  # without weights, the dtype is that of the input
        self._allow_non_tensor_positional_args = True  # the offset
        self.dropout = Dropout(dropout)
        self.max_len = max_len
        self.layout = layout
        self.num_hiddens = num_hiddens
        self.P = tf.constant(sinusoid_table(max_len, num_hiddens, layout))
        self.built = True

    def call(self, X: tf.Tensor, offset: int | tf.Tensor = 0, *, training: bool | None = None) -> tf.Tensor:
        check_features("The input of PositionalEncoding", X, self.num_hiddens)
        floats("The input of PositionalEncoding", X)
        T = keras.ops.shape(X)[1]
        check_room(offset, T, self.max_len)
        self._match(X)
        of_rows = isinstance(offset, tf.Tensor) and offset.shape.rank == 1
        vectors = tf.gather(self.P, _places(offset, T)) if of_rows else self.P[offset : offset + T]
        return self.dropout(X + vectors, training=training)

    def _match(self, X: tf.Tensor) -> None:
        if self.P.dtype != X.dtype:
            # From float64 each time: a table that was once rounded to bfloat16 stays so. It outlives the graph.
            with tf.init_scope():
                self.P = tf.cast(sinusoid_table(self.max_len, self.num_hiddens, self.layout), X.dtype)


def check_room(offset: int | tf.Tensor, steps: int | tf.Tensor, max_len: int | tf.Tensor, limit: str = "max_len") -> None:
    """Refuse steps past the limit; in a graph, where their numbers may not be known yet, the graph itself checks them."""
    first, count, most = map(tf.get_static_value, (offset, steps, max_len))
    if first is not None and count is not None and most is not None:
        check_positions(first, int(count), int(most), limit)
    else:
        start, steps, most = (tf.cast(number, tf.int64) for number in (offset, steps, max_len))
        tf.debugging.assert_less_equal(start + steps, most, f"A sequence must be at most {limit} tokens long.")


def _places(start: tf.Tensor, count: int | tf.Tensor) -> tf.Tensor:
    """[B, count]: of each row the positions from ``start`` [B] on. Below 0 is padding."""
    return tf.maximum(tf.cast(start, tf.int32)[:, None] + tf.range(count), 0)


@keras.saving.register_keras_serializable("transformer_mb")
class Embedding(keras.layers.Embedding):
    """Keras' Embedding, but a row's gradient is added up in float32: in two bytes it is lost where a token is frequent."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        if self.compute_dtype not in ("bfloat16", "float16"):
            return super().call(inputs)
        # Of a mixed policy the table is in float32.
        return tf.cast(_taken(tf.convert_to_tensor(self.embeddings), tf.cast(inputs, tf.int64)), self.compute_dtype)

    def quantize(self, mode: str, type_check: bool = True, **options: Any) -> None:
        """Quantize as Keras does, which refuses any class but its own where types are checked."""
        super().quantize(mode, type_check=False, **options)


@tf.custom_gradient
def _taken(table: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, Any]:
    def gradient(change: tf.Tensor) -> tuple[tf.Tensor, None]:
        rows = tf.cast(tf.reshape(change, (-1, table.shape[1])), tf.float32)
        sums = tf.math.unsorted_segment_sum(rows, tf.reshape(ids, (-1,)), table.shape[0])
        return tf.cast(sums, table.dtype), None

    return keras.ops.take(table, ids, axis=0), gradient


@keras.saving.register_keras_serializable("transformer_mb")
class RelativeBias(Embedding):
    """[buckets, H]: what is added to the scores of self-attention, by head and distance; all blocks of a side share it."""

    def __init__(
        self, num_heads: int, bidirectional: bool, *, max_len: int, buckets: int, max_distance: int, dtype: Any = None
    ):
        super().__init__(int(buckets), int(num_heads), dtype=dtype)
        self.max_len = max_len
        self.buckets = relative_buckets(max_len, buckets, max_distance, bidirectional)
        self.build()

    def scores(self, T: int | tf.Tensor, S: int | tf.Tensor, first: int | tf.Tensor = 0) -> tf.Tensor:
        """[1, H, T, S] of T queries, of which the first is step ``first``, and the keys of the first S steps."""
        distances = tf.range(S) - (first + tf.range(T))[:, None]
        return tf.transpose(self(tf.gather(self.buckets, distances + self.max_len)), (2, 0, 1))[None]


class SequenceEmbedding(Called, keras.layers.Layer):
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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **options: Unpack[EmbeddingOptions],
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self._tracks_blocks = False
        chosen = Chosen(EmbeddingOptions, options, dropout)
        check_table(vocab_size, num_hiddens, chosen.max_len, chosen.padding_id)
        self._allow_non_tensor_positional_args = True  # lists of tokens and lengths
        self.max_len = chosen.max_len
        self.position_offset = chosen.position_offset
        self.norm_tokens = norm_tokens
        self.padding_id = chosen.padding_id
        self.scale = math.sqrt(num_hiddens) if chosen.embedding_scale else 1.0
        rows = chosen.max_len + chosen.position_offset
        self.embedding = self._table(vocab_size, num_hiddens)
        if chosen.padding_id is not None:
            table = self.embedding.embeddings
            table.assign(table * tf.one_hot(chosen.padding_id, vocab_size, 0.0, 1.0, dtype=table.dtype)[:, None])
        self.pos_embedding = self._table(rows, num_hiddens) if chosen.position == "learned" else None
        self.pos_encoding = None
        if chosen.position == "sinusoidal":
            self.pos_encoding = PositionalEncoding(num_hiddens, 0.0, rows, layout=chosen.sinusoid_layout)
        self.type_embedding = self._table(token_types, num_hiddens) if token_types else None
        self.embedding_norm = (
            LayerNorm(num_hiddens, **chosen.layer_norm, dtype=self.dtype_policy) if chosen.embedding_norm else None
        )
        self.dropout = Dropout(chosen.embedding_dropout)
        self.built = True

    def _table(self, rows: int, num_hiddens: int) -> Embedding:
        # Keras refuses whole numbers of NumPy's.
        table = Embedding(int(rows), int(num_hiddens), dtype=self.dtype_policy)
        table.build()
        return table

    def _trackable_children(self, save_type: str = "checkpoint", **options: Any) -> Any:
        # Keras 3 keeps lists out of TensorFlow's own tracking, by which tf.train.Checkpoint finds variables.
        if save_type == "checkpoint":
            self._track_blocks()
        return super()._trackable_children(save_type, **options)

    def _lookup_dependency(self, name: str, *arguments: Any) -> Any:
        if name == "blks":  # asked by what reads a checkpoint
            self._track_blocks()
        return super()._lookup_dependency(name, *arguments)

    def _track_blocks(self) -> None:
        """Return the blocks that the list holds now, by names such as ``blks/0``."""
        tracked = super()._lookup_dependency("blks") or []
        if not self._tracks_blocks and [id(block) for block in tracked] != [id(block) for block in self.blks]:
            self._tracks_blocks = True  # to track is to look up
            self._track_trackable(tf.__internal__.tracking.wrap(list(self.blks)), "blks", overwrite=True)
            self._tracks_blocks = False

    def _normed(self, X: tf.Tensor) -> tf.Tensor:
        return X if self.embedding_norm is None else self.embedding_norm(X)

    def embed(
        self,
        tokens: tf.Tensor,
        offset: int | tf.Tensor = 0,
        token_types: tf.Tensor | None = None,
        left_padding: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        name = f"The input of {type(self).__name__}"
        tokens = token_ids(name, tokens, None, None)
        T = keras.ops.shape(tokens)[1]
        check_room(offset, T, self.max_len)
        start = offset + self.position_offset
        start = start if left_padding is None else start - left_padding
        X = look_up(name, self.embedding, tokens)
        if self.padding_id is not None:
            # The pad row gets no gradient.
            X = tf.where((tokens == self.padding_id)[..., None], tf.stop_gradient(X), X)
        X = X * self.scale
        X = self._normed(X) if self.norm_tokens else X
        table = self.pos_embedding
        if self.pos_encoding is not None:
            X = self.pos_encoding(X, start)
        elif table is not None:
            X = plus(X, table.embeddings[start : start + T]) if left_padding is None else X + table(_places(start, T))
        if token_types is not None:
            token_types = token_ids("token_types", token_types, None, X)
            check_types(token_types.shape, tokens.shape, self.type_embedding is not None)
        if self.type_embedding is not None:
            # Without token types every token is of type 0.
            table = self.type_embedding
            X = plus(X, table.embeddings[0]) if token_types is None else X + look_up("token_types", table, token_types)
        return self.dropout(X if self.norm_tokens else self._normed(X), training=training)
