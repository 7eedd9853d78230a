"""The decoder block and the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import keras
import tensorflow as tf

from transformer_mb.attention_weights import WeightsOfDecoder
from transformer_mb.checks import as_array, check_batches, check_state
from transformer_mb.config import check_count, check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import AttentionOptions, Chosen, DecoderBlockOptions, DecoderOptions, EmbeddingOptions

from .attention import MultiHeadAttention
from .cache import BlockCache
from .dense import Dense
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .given import features
from .normalization import AddNorm, LayerNorm


@keras.saving.register_keras_serializable("transformer_mb")
class DecoderBlock(Called, keras.layers.Layer):
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
        i: int,
        use_bias: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **options: Unpack[DecoderBlockOptions],
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        check_count("i", i)
        chosen = Chosen(DecoderBlockOptions, options, dropout)
        self._allow_non_tensor_positional_args = True  # lists of lengths
        self.i = i
        self.compat_decode = chosen.compat_decode
        dtype = self.dtype_policy
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias)
        self.attention1 = MultiHeadAttention(*sizes, **chosen.heads, dtype=dtype)
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm, dtype=dtype)
        self.attention2 = MultiHeadAttention(*sizes, **chosen.cross_heads, dtype=dtype) if chosen.cross_attention else None
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm, dtype=dtype) if chosen.cross_attention else None
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn, dtype=dtype)
        self.addnorm3 = AddNorm(norm_shape, dropout, **chosen.add_norm, dtype=dtype)
        self.built = True

    def call(
        self,
        X: tf.Tensor,
        state: list[Any],
        *,
        need_weights: bool = False,
        bias: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[tf.Tensor, list[Any]]:
        features("X", X, getattr(self.attention1, "W_q", None))
        check_state("DecoderBlock", state, self.i + 1)
        enc_outputs, enc_valid_lens, caches = state
        own, cross = caches[self.i] or BlockCache.start()
        # The book's code has no causal mask in evaluation.
        causal = bool(training) or self.compat_decode != "d2l"
        Y = self.addnorm1.sublayer_input(X)
        first, own = own.length, own.append(*self.attention1.project_keys_values(Y, Y, own.length))
        options: AttentionOptions = {"mask": own.mask, "causal": causal, "need_weights": need_weights, "bias": bias}
        Y = self.attention1.attend(Y, own.keys, own.values, offset=first, training=training, **options)
        X = self.addnorm1(X, Y, training=training)
        if self.attention2 is not None and enc_outputs is not None:
            if cross is None:
                check_batches("X", X.shape, enc_outputs.shape)
                cross = self.attention2.project_keys_values(enc_outputs, enc_outputs)
            keys, values = cross
            Y = self.addnorm2.sublayer_input(X)
            Y = self.attention2.attend(Y, keys, values, enc_valid_lens, need_weights=need_weights, training=training)
            X = self.addnorm2(X, Y, training=training)
        X = self.addnorm3(X, self.ffn(self.addnorm3.sublayer_input(X), training=training), training=training)
        caches = [*caches[: self.i], BlockCache(own, cross), *caches[self.i + 1 :]]
        return X, [enc_outputs, enc_valid_lens, caches]


@keras.saving.register_keras_serializable("transformer_mb")
class TransformerDecoder(WeightsOfDecoder, SequenceEmbedding):
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
        **options: Unpack[DecoderOptions],
    ):
        check_sizes(num_layers=num_layers)
        chosen = Chosen(DecoderOptions, options, dropout)
        embedding = {**chosen.of(EmbeddingOptions), "norm_tokens": chosen.decoder_embedding_norm == "tokens"}
        super().__init__(vocab_size, num_hiddens, dropout, **embedding, name=name, dtype=dtype, trainable=trainable)
        self.compat_decode = chosen.compat_decode
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        block_options = {**chosen.of(DecoderBlockOptions), "dtype": self.dtype_policy}
        self.blks = [DecoderBlock(*sizes, dropout, i, use_bias, name=f"block{i}", **block_options) for i in range(num_layers)]
        self.output_scale = num_hiddens**-0.5 if chosen.output_scale else 1.0
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, False, **chosen.relative, dtype=self.dtype_policy) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm, dtype=self.dtype_policy) if chosen.final_norm else None
        self.dense = Dense(vocab_size, use_bias=chosen.output_bias, dtype=self.dtype_policy)
        self.dense.build((None, num_hiddens))

    def init_state(
        self,
        enc_outputs: tf.Tensor | None,
        enc_valid_lens: tf.Tensor | None = None,
        max_steps: int | None = None,
        left_padding: tf.Tensor | None = None,
    ) -> list[Any]:
        if isinstance(enc_valid_lens, list | tuple):
            # Keras takes no list of numbers beside a tensor, as they would be in the state.
            enc_valid_lens = tf.constant(as_array("valid_lens", enc_valid_lens))
        start = None if max_steps is None and left_padding is None else BlockCache.start(max_steps, left_padding)
        return [enc_outputs, enc_valid_lens, [start] * len(self.blks)]

    def call(
        self, X: tf.Tensor, state: list[Any], *, need_weights: bool = False, training: bool | None = None
    ) -> tuple[tf.Tensor, list[Any]]:
        check_state("TransformerDecoder", state, len(self.blks))
        own = BlockCache.start().self_attention if state[2][0] is None else state[2][0].self_attention
        # The book's predictor feeds one token at a time, each at position 0.
        offset = 0 if self.compat_decode == "d2l" and not training else own.length
        X = self.embed(X, offset, left_padding=own.left_padding, training=training)
        bias = None
        if self.relative_bias is not None:
            T = keras.ops.shape(X)[1]
            bias = self.relative_bias.scores(T, own.length + T, own.length)
        for block in self.blks:
            X, state = block(X, state, need_weights=need_weights, bias=bias, training=training)
        X = X if self.norm is None else self.norm(X)
        return self.dense(X if self.output_scale == 1.0 else X * self.output_scale), state
