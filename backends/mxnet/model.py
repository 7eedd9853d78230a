"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

from mxnet import autograd, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.call_checks import check_config
from transformer_mb.checks import check_sides
from transformer_mb.config import TransformerConfig
from transformer_mb.layer_calls import check_parts
from transformer_mb.layer_options import decoder_arguments, encoder_arguments

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


class TiedDense(nn.Dense):
    """The output projection by an embedding's table; gluon shares a parameter by its name among ``params``."""

    def __init__(self, embedding: nn.Embedding, use_bias: bool, padding_id: int | None):
        vocab_size, num_hiddens = embedding.weight.shape
        super().__init__(vocab_size, in_units=num_hiddens, use_bias=use_bias, flatten=False, params=embedding.params)
        self.padding_id = padding_id

    def forward(self, X: mnp.ndarray) -> mnp.ndarray:
        if self.padding_id is None or not autograd.is_recording():
            return super().forward(X)
        # The pad row gets no gradient from here either.
        weight = self.weight.data()
        padding = npx.cast(mnp.arange(self._units, ctx=weight.ctx) == self.padding_id, dtype=weight.dtype).reshape(-1, 1)
        with autograd.pause():
            held = weight * padding
        weight = weight * (1.0 - padding) + held
        bias = None if self.bias is None else self.bias.data()
        return npx.fully_connected(X, weight, bias, num_hidden=self._units, no_bias=bias is None, flatten=False)


class EncoderDecoder(Block):
    config: TransformerConfig

    def __init__(self, encoder: TransformerEncoder | None, decoder: TransformerDecoder | None, pooler: Pooler | None = None):
        super().__init__()
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
            padding_id = config.pad_id if config.padding_vector_zero else None
            decoder.dense = TiedDense(decoder.embedding, config.output_bias, padding_id)
        model = cls(encoder, decoder, Pooler(config.num_hiddens) if config.pooler else None)
        model.config = config
        return model

    def forward(
        self, enc_X: mnp.ndarray | None, dec_X: mnp.ndarray | None = None, enc_valid_lens: mnp.ndarray | None = None
    ) -> Any:
        check_sides(self.encoder is not None, self.decoder is not None, enc_X, dec_X)
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))
