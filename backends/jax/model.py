"""Encoder and decoder as one model."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.call_checks import check_config
from transformer_mb.checks import check_sides
from transformer_mb.config import TransformerConfig
from transformer_mb.layer_calls import Called, check_parts
from transformer_mb.layer_options import decoder_arguments, encoder_arguments

from .decoder import TransformerDecoder
from .encoder import TransformerEncoder
from .linear import Linear, TiedLinear


class Pooler(nnx.Module):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int, *, param_dtype: Any = jnp.float32, rngs: nnx.Rngs | None = None):
        self.dense = Linear(num_hiddens, num_hiddens, param_dtype=param_dtype, rngs=rngs or nnx.Rngs(0))

    def __call__(self, X: Array) -> Array:
        return jnp.tanh(self.dense(X[:, 0]))


class EncoderDecoder(Called, nnx.Module):
    config: TransformerConfig

    def __init__(self, encoder: TransformerEncoder | None, decoder: TransformerDecoder | None, pooler: Pooler | None = None):
        check_parts(encoder=encoder, decoder=decoder, pooler=pooler)
        self.encoder = encoder
        self.decoder = decoder
        self.pooler = pooler

    @classmethod
    def from_config(
        cls, config: TransformerConfig, *, param_dtype: Any = jnp.float32, rngs: nnx.Rngs | None = None
    ) -> EncoderDecoder:
        check_config(config)
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        encoder = TransformerEncoder(**encoder_arguments(config), **created) if config.has_encoder else None
        decoder = TransformerDecoder(**decoder_arguments(config), **created) if config.has_decoder else None
        if config.share_embeddings:
            decoder.embedding = encoder.embedding
        if config.tie_output:
            decoder.dense = TiedLinear(decoder.embedding, decoder.dense.bias, decoder.padding_id)
        model = cls(encoder, decoder, Pooler(config.num_hiddens, **created) if config.pooler else None)
        model.config = config
        return model

    def __call__(self, enc_X: Array | None, dec_X: Array | None = None, enc_valid_lens: Array | None = None) -> Any:
        check_sides(self.encoder is not None, self.decoder is not None, enc_X, dec_X)
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens)
        if self.decoder is None:
            return enc_outputs
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))
