"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

from mxnet import gluon
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.config import TransformerConfig

from .decoder import TransformerDecoder
from .encoder import TransformerEncoder
from .shim import Block


class Pooler(Block):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int):
        super().__init__()
        self.dense = nn.Dense(num_hiddens, in_units=num_hiddens, flatten=False)

    def forward(self, X: mnp.ndarray) -> mnp.ndarray:
        return mnp.tanh(self.dense(X[:, 0]))


class EncoderDecoder(Block):
    config: TransformerConfig

    def __init__(self, encoder: gluon.Block | None, decoder: gluon.Block | None, pooler: gluon.Block | None = None):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.pooler = pooler

    @classmethod
    def from_config(cls, config: TransformerConfig) -> EncoderDecoder:
        encoder = TransformerEncoder.from_config(config) if config.has_encoder else None
        decoder = TransformerDecoder.from_config(config) if config.has_decoder else None
        if config.share_embeddings:
            decoder.embedding = encoder.embedding
        if config.tie_output:
            # gluon shares a parameter by its name among those that a new layer is given.
            shared = {"in_units": config.num_hiddens, "use_bias": config.output_bias, "flatten": False}
            decoder.dense = nn.Dense(config.target_vocab_size, **shared, params=decoder.embedding.params)
        model = cls(encoder, decoder, Pooler(config.num_hiddens) if config.pooler else None)
        model.config = config
        return model

    def forward(
        self, enc_X: mnp.ndarray | None, dec_X: mnp.ndarray | None = None, enc_valid_lens: mnp.ndarray | None = None
    ) -> Any:
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))
