"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

import numpy as np

from transformer_mb.call_checks import check_config
from transformer_mb.checks import check_sides
from transformer_mb.config import TransformerConfig
from transformer_mb.layer_calls import check_parts
from transformer_mb.layer_options import decoder_arguments, encoder_arguments

from .decoder import TransformerDecoder
from .encoder import TransformerEncoder
from .framework import Layer, Linear


class Pooler(Layer):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int):
        self.dense = Linear(num_hiddens, num_hiddens)

    def forward(self, X: np.ndarray) -> np.ndarray:
        Y = np.tanh(self.dense(X[:, 0]))
        self.remember(X.shape, Y)
        return Y

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        shape, Y = self.recall()
        dX = np.zeros(shape, Y.dtype)
        dX[:, 0] = self.dense.backward(gradient * (1.0 - Y * Y))
        return dX


class EncoderDecoder(Layer):
    config: TransformerConfig

    def __init__(self, encoder: TransformerEncoder | None, decoder: TransformerDecoder | None, pooler: Pooler | None = None):
        check_parts(encoder=encoder, decoder=decoder, pooler=pooler)
        self.encoder = encoder
        self.decoder = decoder
        self.pooler = pooler

    @classmethod
    def from_config(cls, config: TransformerConfig) -> EncoderDecoder:
        check_config(config)
        encoder = TransformerEncoder(**encoder_arguments(config)) if config.has_encoder else None
        decoder = TransformerDecoder(**decoder_arguments(config)) if config.has_decoder else None
        if config.share_embeddings:
            # The table alone: each side remembers its own ids for backward.
            decoder.embedding.weight = encoder.embedding.weight
        if config.tie_output:
            decoder.dense.weight = decoder.embedding.weight
        model = cls(encoder, decoder, Pooler(config.num_hiddens) if config.pooler else None)
        model.config = config
        return model

    def forward(
        self, enc_X: np.ndarray | None, dec_X: np.ndarray | None = None, enc_valid_lens: np.ndarray | None = None
    ) -> Any:
        check_sides(self.encoder is not None, self.decoder is not None, enc_X, dec_X)
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))

    def backward(self, gradient: np.ndarray) -> None:
        if self.decoder is not None:
            gradient = self.decoder.backward(gradient)
        if self.encoder is not None:
            self.encoder.backward(gradient)
