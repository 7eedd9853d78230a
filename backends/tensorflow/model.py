"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from transformer_mb.config import TransformerConfig

from .decoder import TransformerDecoder
from .encoder import TransformerEncoder


@keras.saving.register_keras_serializable("transformer_mb")
class Pooler(keras.layers.Layer):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(num_hiddens, dtype=self.dtype_policy)
        self.dense.build((None, num_hiddens))
        self.built = True

    def call(self, X: tf.Tensor) -> tf.Tensor:
        return tf.tanh(self.dense(X[:, 0]))


class _TiedDense(keras.layers.Layer):
    """An output projection whose weight is an embedding table: [V, D] is the canonical [out, in] already."""

    def __init__(self, embedding: keras.layers.Embedding, use_bias: bool, **kwargs: Any):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.bias = self.add_weight(shape=(embedding.input_dim,), initializer="zeros", name="bias") if use_bias else None
        self.built = True

    def call(self, X: tf.Tensor) -> tf.Tensor:
        Y = tf.tensordot(X, self.embedding.embeddings, [[-1], [1]])
        return Y if self.bias is None else Y + self.bias


@keras.saving.register_keras_serializable("transformer_mb")
class EncoderDecoder(keras.Model):
    config: TransformerConfig

    def __init__(
        self,
        encoder: keras.layers.Layer | None,
        decoder: keras.layers.Layer | None,
        pooler: keras.layers.Layer | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.pooler = pooler
        self.built = True

    @classmethod
    def from_config(cls, config: TransformerConfig, **kwargs: Any) -> EncoderDecoder:
        encoder = TransformerEncoder.from_config(config, **kwargs) if config.has_encoder else None
        decoder = TransformerDecoder.from_config(config, **kwargs) if config.has_decoder else None
        if config.share_embeddings:
            _replace(decoder, "embedding", encoder.embedding)
        if config.tie_output:
            _replace(decoder, "dense", _TiedDense(decoder.embedding, config.output_bias, **kwargs))
        model = cls(encoder, decoder, Pooler(config.num_hiddens, **kwargs) if config.pooler else None, **kwargs)
        model.config = config
        return model

    def call(
        self,
        enc_X: tf.Tensor | None,
        dec_X: tf.Tensor | None = None,
        enc_valid_lens: tf.Tensor | None = None,
        *,
        training: bool | None = None,
    ) -> Any:
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens, training=training)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens), training=training)


def _replace(layer: keras.layers.Layer, name: str, new: keras.layers.Layer) -> None:
    """Keras counts the weights of every layer that an attribute ever held, unless it is told."""
    layer._tracker.untrack(getattr(layer, name))
    setattr(layer, name, new)
