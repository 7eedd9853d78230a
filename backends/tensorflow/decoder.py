"""The decoder block and the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from transformer_mb.config import TransformerConfig

from .attention import MultiHeadAttention
from .cache import BlockCache
from .embedding import SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .normalization import AddNorm, LayerNorm


@keras.saving.register_keras_serializable("transformer_mb")
class DecoderBlock(keras.layers.Layer):
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
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        activation: str = "relu",
        ffn_bias: bool = True,
        ffn_dropout: float = 0.0,
        attention_dropout: float | None = None,
        cross_attention: bool = True,
        compat_decode: str = "correct",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.i = i
        self.compat_decode = compat_decode
        dtype = self.dtype_policy
        norm: dict[str, Any] = {
            "norm_position": norm_position,
            "norm_eps": norm_eps,
            "norm_kind": norm_kind,
            "norm_affine": norm_affine,
            "dtype": dtype,
        }
        attention_dropout = dropout if attention_dropout is None else attention_dropout
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, attention_dropout, use_bias)
        self.attention1 = MultiHeadAttention(*sizes, dtype=dtype)
        self.addnorm1 = AddNorm(norm_shape, dropout, **norm)
        self.attention2 = MultiHeadAttention(*sizes, dtype=dtype) if cross_attention else None
        self.addnorm2 = AddNorm(norm_shape, dropout, **norm) if cross_attention else None
        ffn: dict[str, Any] = {"activation": activation, "dropout": ffn_dropout, "use_bias": ffn_bias, "dtype": dtype}
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **ffn)
        self.addnorm3 = AddNorm(norm_shape, dropout, **norm)
        self.built = True

    @classmethod
    def from_config(cls, config: TransformerConfig, i: int, **kwargs: Any) -> DecoderBlock:
        D = config.num_hiddens
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, config.decoder_num_heads, config.dropout)
        options = {"cross_attention": config.has_encoder, "compat_decode": config.compat_decode, **kwargs}
        return cls(*sizes, i, config.decoder_attention_bias, **config.block_options(), **options)

    def call(
        self, X: tf.Tensor, state: list[Any], *, need_weights: bool = False, training: bool | None = None
    ) -> tuple[tf.Tensor, list[Any]]:
        enc_outputs, enc_valid_lens, caches = state
        own, cross = caches[self.i] or BlockCache.start()
        mode: dict[str, Any] = {"need_weights": need_weights, "training": training}
        # The book's code has no causal mask in evaluation.
        causal = bool(training) or self.compat_decode != "d2l"
        Y = self.addnorm1.sublayer_input(X)
        own = own.append(*self.attention1.project_keys_values(Y, Y))
        Z = self.attention1.attend(Y, own.keys, own.values, causal=causal, **mode)
        X = self.addnorm1(X, Z, training=training)
        if self.attention2 is not None and enc_outputs is not None:
            if cross is None:
                cross = self.attention2.project_keys_values(enc_outputs, enc_outputs)
            Y = self.addnorm2.sublayer_input(X)
            X = self.addnorm2(X, self.attention2.attend(Y, *cross, enc_valid_lens, **mode), training=training)
        X = self.addnorm3(X, self.ffn(self.addnorm3.sublayer_input(X), training=training), training=training)
        caches = [*caches[: self.i], BlockCache(own, cross), *caches[self.i + 1 :]]
        return X, [enc_outputs, enc_valid_lens, caches]


@keras.saving.register_keras_serializable("transformer_mb")
class TransformerDecoder(SequenceEmbedding):
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
        max_len: int = 1000,
        position: str = "sinusoidal",
        sinusoid_layout: str = "interleaved",
        position_offset: int = 0,
        embedding_scale: bool = True,
        embedding_norm: bool = False,
        padding_id: int | None = None,
        final_norm: bool = False,
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        output_bias: bool = True,
        compat_decode: str = "correct",
        name: str | None = None,
        dtype: Any = None,
        **block_options: Any,
    ):
        norm: dict[str, Any] = {"norm_eps": norm_eps, "norm_kind": norm_kind, "norm_affine": norm_affine}
        super().__init__(
            vocab_size,
            num_hiddens,
            dropout,
            max_len=max_len,
            position=position,
            sinusoid_layout=sinusoid_layout,
            position_offset=position_offset,
            embedding_scale=embedding_scale,
            embedding_norm=embedding_norm,
            padding_id=padding_id,
            name=name,
            dtype=dtype,
            trainable=block_options.pop("trainable", True),
            **norm,
        )
        self.compat_decode = compat_decode
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        options = {**norm, "compat_decode": compat_decode, "dtype": self.dtype_policy, **block_options}
        self.blks = [DecoderBlock(*sizes, dropout, i, use_bias, name=f"block{i}", **options) for i in range(num_layers)]
        final = {"eps": norm_eps, "kind": norm_kind, "affine": norm_affine, "dtype": self.dtype_policy}
        self.norm = LayerNorm(norm_shape, **final) if final_norm else None
        self.dense = keras.layers.Dense(vocab_size, use_bias=output_bias, dtype=self.dtype_policy)
        self.dense.build((None, num_hiddens))

    @classmethod
    def from_config(cls, config: TransformerConfig, **kwargs: Any) -> TransformerDecoder:
        if not isinstance(config, TransformerConfig):
            # Keras, when it loads a model.
            return super().from_config(config)
        D, heads, layers = config.num_hiddens, config.decoder_num_heads, config.decoder_num_layers
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, heads, layers, config.dropout)
        options = {
            **config.stack_options(),
            "output_bias": config.output_bias,
            "cross_attention": config.has_encoder,
            "compat_decode": config.compat_decode,
        }
        return cls(config.target_vocab_size, *sizes, config.decoder_attention_bias, **options, **kwargs)

    @property
    def attention_weights(self) -> list[list[tf.Tensor | None]]:
        own = [block.attention1.attention_weights for block in self.blks]
        cross = [block.attention2.attention_weights for block in self.blks if block.attention2 is not None]
        return [own, cross]

    def init_state(
        self, enc_outputs: tf.Tensor | None, enc_valid_lens: tf.Tensor | None = None, max_steps: int | None = None
    ) -> list[Any]:
        start = None if max_steps is None else BlockCache.start(max_steps)
        return [enc_outputs, enc_valid_lens, [start] * len(self.blks)]

    def call(
        self, X: tf.Tensor, state: list[Any], *, need_weights: bool = False, training: bool | None = None
    ) -> tuple[tf.Tensor, list[Any]]:
        first = state[2][0]
        offset = 0 if first is None else first.own.length
        if self.compat_decode == "d2l" and not training:
            # The book's predictor feeds one token at a time, each at position 0.
            offset = 0
        X = self.embed(X, offset, training=training)
        for block in self.blks:
            X, state = block(X, state, need_weights=need_weights, training=training)
        X = X if self.norm is None else self.norm(X)
        return self.dense(X), state
