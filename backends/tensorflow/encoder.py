"""The encoder block and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from transformer_mb.config import TransformerConfig

from .attention import MultiHeadAttention
from .embedding import SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .normalization import AddNorm, LayerNorm


@keras.saving.register_keras_serializable("transformer_mb")
class EncoderBlock(keras.layers.Layer):
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
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        activation: str = "relu",
        ffn_bias: bool = True,
        ffn_dropout: float = 0.0,
        attention_dropout: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        dtype = self.dtype_policy
        norm: dict[str, Any] = {
            "norm_position": norm_position,
            "norm_eps": norm_eps,
            "norm_kind": norm_kind,
            "norm_affine": norm_affine,
            "dtype": dtype,
        }
        attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.attention = MultiHeadAttention(
            key_size, query_size, value_size, num_hiddens, num_heads, attention_dropout, use_bias, dtype=dtype
        )
        self.addnorm1 = AddNorm(norm_shape, dropout, **norm)
        ffn: dict[str, Any] = {"activation": activation, "dropout": ffn_dropout, "use_bias": ffn_bias, "dtype": dtype}
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **ffn)
        self.addnorm2 = AddNorm(norm_shape, dropout, **norm)
        self.built = True

    @classmethod
    def from_config(cls, config: TransformerConfig, **kwargs: Any) -> EncoderBlock:
        if not isinstance(config, TransformerConfig):
            # Keras, when it loads a model.
            return super().from_config(config)
        D = config.num_hiddens
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, config.encoder_num_heads, config.dropout)
        return cls(*sizes, config.encoder_attention_bias, **config.block_options(), **kwargs)

    def call(
        self,
        X: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        mask: tf.Tensor | None = None,
        need_weights: bool = False,
        training: bool | None = None,
    ) -> tf.Tensor:
        if mask is not None and mask.shape.rank == 2 and self.compute_mask(X, None) is not None:
            # Keras filled in the padding [B, T] that X carries; the attention finds it at its keys.
            mask = None
        Y = self.addnorm1.sublayer_input(X)
        Z = self.attention(Y, Y, Y, valid_lens, mask=mask, need_weights=need_weights, training=training)
        X = self.addnorm1(X, Z, training=training)
        return self.addnorm2(X, self.ffn(self.addnorm2.sublayer_input(X), training=training), training=training)

    def compute_mask(self, X: tf.Tensor, previous_mask: tf.Tensor | None) -> tf.Tensor | None:
        """What Keras attaches to the output: the padding of X, never the mask of this call."""
        return getattr(X, "_keras_mask", None)


@keras.saving.register_keras_serializable("transformer_mb")
class TransformerEncoder(SequenceEmbedding):
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
        token_types: int = 0,
        padding_id: int | None = None,
        final_norm: bool = False,
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
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
            token_types=token_types,
            padding_id=padding_id,
            name=name,
            dtype=dtype,
            trainable=block_options.pop("trainable", True),
            **norm,
        )
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        options = {**norm, "dtype": self.dtype_policy, **block_options}
        self.blks = [EncoderBlock(*sizes, dropout, use_bias, name=f"block{i}", **options) for i in range(num_layers)]
        final = {"eps": norm_eps, "kind": norm_kind, "affine": norm_affine, "dtype": self.dtype_policy}
        self.norm = LayerNorm(norm_shape, **final) if final_norm else None

    @classmethod
    def from_config(cls, config: TransformerConfig, **kwargs: Any) -> TransformerEncoder:
        if not isinstance(config, TransformerConfig):
            # Keras, when it loads a model.
            return super().from_config(config)
        D, heads, layers = config.num_hiddens, config.encoder_num_heads, config.encoder_num_layers
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, heads, layers, config.dropout)
        options = {**config.stack_options(), "token_types": config.token_types}
        return cls(config.source_vocab_size, *sizes, config.encoder_attention_bias, **options, **kwargs)

    @property
    def attention_weights(self) -> list[tf.Tensor | None]:
        return [block.attention.attention_weights for block in self.blks]

    def call(
        self,
        X: tf.Tensor,
        valid_lens: tf.Tensor | None = None,
        *,
        token_types: tf.Tensor | None = None,
        need_weights: bool = False,
        training: bool | None = None,
    ) -> tf.Tensor:
        mask = None
        if valid_lens is not None and valid_lens.shape.rank == 1:
            # One mask for all blocks.
            mask = (tf.range(keras.ops.shape(X)[1], dtype=valid_lens.dtype) < valid_lens[:, None])[:, None, None]
            valid_lens = None
        X = self.embed(X, token_types=token_types, training=training)
        for block in self.blks:
            X = block(X, valid_lens, mask=mask, need_weights=need_weights, training=training)
        return X if self.norm is None else self.norm(X)
