"""The encoder block and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import keras
import tensorflow as tf

from transformer_mb.attention_weights import WeightsOfEncoder
from transformer_mb.config import check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import BlockOptions, Chosen, EmbeddingOptions, EncoderOptions

from .attention import MultiHeadAttention, length_mask
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .given import features
from .normalization import AddNorm, LayerNorm


@keras.saving.register_keras_serializable("transformer_mb")
class EncoderBlock(Called, keras.layers.Layer):
    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **options: Unpack[BlockOptions],
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self._allow_non_tensor_positional_args = True  # lists of lengths
        dtype = self.dtype_policy
        chosen = Chosen(BlockOptions, options, dropout)
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias)
        self.attention = MultiHeadAttention(*sizes, **chosen.heads, dtype=dtype)
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm, dtype=dtype)
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn, dtype=dtype)
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm, dtype=dtype)
        self.built = True

    def __call__(self, X: Any, valid_lens: Any = None, *, mask: Any = None, **options: Any) -> Any:
        # Without a mask Keras would fill in the padding [B, T] that X carries, which the attention finds at its keys.
        return super().__call__(X, valid_lens, mask=True if mask is None else mask, **options)

    def call(
        self,
        X: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        mask: tf.Tensor | bool | None = None,
        need_weights: bool = False,
        bias: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        mask = None if mask is True else mask
        features("X", X, getattr(self.attention, "W_q", None))
        Y = self.addnorm1.sublayer_input(X)
        Z = self.attention(Y, Y, Y, valid_lens, mask=mask, need_weights=need_weights, bias=bias, training=training)
        X = self.addnorm1(X, Z, training=training)
        return self.addnorm2(X, self.ffn(self.addnorm2.sublayer_input(X), training=training), training=training)

    def compute_mask(self, X: tf.Tensor, previous_mask: tf.Tensor | None) -> tf.Tensor | None:
        """Return the mask that Keras attaches to the output: the padding of X, never the mask of this call."""
        return getattr(X, "_keras_mask", None)


@keras.saving.register_keras_serializable("transformer_mb")
class TransformerEncoder(WeightsOfEncoder, SequenceEmbedding):
    def __init__(
        self,
        vocab_size: int,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float,
        use_bias: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **options: Unpack[EncoderOptions],
    ):
        check_sizes(num_layers=num_layers)
        chosen = Chosen(EncoderOptions, options, dropout)
        embedding = {**chosen.of(EmbeddingOptions), "name": name, "dtype": dtype, "trainable": trainable}
        super().__init__(vocab_size, num_hiddens, dropout, token_types=chosen.token_types, **embedding)
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        block_options = {**chosen.of(BlockOptions), "dtype": self.dtype_policy}
        self.blks = [EncoderBlock(*sizes, dropout, use_bias, name=f"block{i}", **block_options) for i in range(num_layers)]
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, True, **chosen.relative, dtype=self.dtype_policy) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm, dtype=self.dtype_policy) if chosen.final_norm else None

    def call(
        self,
        X: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        token_types: tf.Tensor | None = None,
        need_weights: bool = False,
        training: bool | None = None,
    ) -> tf.Tensor:
        X = self.embed(X, token_types=token_types, training=training)
        B, S, _ = keras.ops.shape(X)
        # One mask for all blocks.
        mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X)
        bias = None if self.relative_bias is None else self.relative_bias.scores(S, S)
        for block in self.blks:
            X = block(X, mask=mask, need_weights=need_weights, bias=bias, training=training)
        return X if self.norm is None else self.norm(X)
