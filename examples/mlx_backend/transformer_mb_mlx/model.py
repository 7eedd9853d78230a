"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from transformer_mb.call_checks import check_config
from transformer_mb.checks import check_sides
from transformer_mb.config import TransformerConfig
from transformer_mb.layer_calls import check_parts
from transformer_mb.layer_options import decoder_arguments, encoder_arguments

from .decoder import TransformerDecoder
from .encoder import TransformerEncoder
from .framework import Linear, Module, TiedLinear


class Pooler(Module):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int):
        self.dense = Linear(num_hiddens, num_hiddens)

    def forward(self, X: Any) -> Any:
        return mx.tanh(self.dense(X[:, 0]))


class EncoderDecoder(Module):
    config: TransformerConfig

    def __init__(self, encoder: Any, decoder: Any, pooler: Any = None):
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
            decoder.embedding = encoder.embedding
        if config.tie_output:
            decoder.dense = TiedLinear(decoder.embedding, decoder.dense.bias)
        model = cls(encoder, decoder, Pooler(config.num_hiddens) if config.pooler else None)
        model.config = config
        return model

    def forward(self, enc_X: Any, dec_X: Any = None, enc_valid_lens: Any = None) -> Any:
        check_sides(self.encoder is not None, self.decoder is not None, enc_X, dec_X)
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))
