"""Encoder and decoder as one model."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mb.call_checks import check_config
from transformer_mb.checks import check_sides
from transformer_mb.config import TransformerConfig
from transformer_mb.layer_calls import Called, check_parts
from transformer_mb.layer_options import decoder_arguments, encoder_arguments

from .decoder import TransformerDecoder
from .encoder import TransformerEncoder


class Pooler(nn.Module):
    """tanh(dense(first position)): [B, S, D] -> [B, D] (Devlin et al. 2019)."""

    def __init__(self, num_hiddens: int):
        super().__init__()
        self.dense = nn.Linear(num_hiddens, num_hiddens)

    def forward(self, X: Tensor) -> Tensor:
        return torch.tanh(self.dense(X[:, 0]))


def _without_row(gradient: Tensor, row: int) -> Tensor:
    return gradient.index_fill(0, torch.tensor(row, device=gradient.device), 0.0)


class EncoderDecoder(Called, nn.Module):
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
            decoder.dense.weight = decoder.embedding.weight
            if config.padding_vector_zero:
                # padding_idx keeps the embedding's gradient out of the pad row, this the projection's.
                decoder.dense.weight.register_hook(partial(_without_row, row=config.pad_id))
        model = cls(encoder, decoder, Pooler(config.num_hiddens) if config.pooler else None)
        model.config = config
        return model

    def forward(self, enc_X: Tensor | None, dec_X: Tensor | None = None, enc_valid_lens: Tensor | None = None) -> Any:
        check_sides(self.encoder is not None, self.decoder is not None, enc_X, dec_X)
        enc_outputs = None if self.encoder is None else self.encoder(enc_X, enc_valid_lens)
        if self.decoder is None:
            return enc_outputs
        logits, state = self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))
        return logits, _tensors(state) if torch.jit.is_tracing() else state


def _tensors(state: Any) -> Any:
    """A state as nested tuples of its tensors: what torch.jit.trace gives back may hold neither None nor a number."""
    parts = [_tensors(part) if isinstance(part, list | tuple) else part for part in state]
    return tuple(part for part in parts if isinstance(part, Tensor) or (isinstance(part, tuple) and part))
