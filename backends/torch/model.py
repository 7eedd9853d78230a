"""Encoder and decoder as one model."""

from __future__ import annotations

from collections.abc import Callable
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


def _weights(decoder: nn.Module | None) -> list[Any]:
    """The embedding's and the output projection's, which a decoder of the user's own need not have."""
    layers = (getattr(decoder, name, None) for name in ("embedding", "dense"))
    return [getattr(layer, "weight", None) for layer in layers]


def _is_tied(decoder: nn.Module | None) -> bool:
    embedded, projected = _weights(decoder)
    return embedded is not None and embedded is projected


def _tie(decoder: Any) -> None:
    """Project by the embedding's weights."""
    decoder.dense.weight = decoder.embedding.weight
    row = getattr(decoder.embedding, "padding_idx", None)
    if row is not None:  # it keeps the embedding's gradient out of the pad row, this the projection's
        decoder.dense.weight.register_hook(partial(_without_row, row=row))


def _tie_what_shares_memory(model: EncoderDecoder, keys: Any) -> None:
    """Have one parameter where ``load_state_dict(assign=True)`` makes two of what a tied model saved."""
    weights = embedded, projected = _weights(model.decoder)
    # Of a tensor without memory, or divided among devices, nothing is known.
    if _is_tied(model.decoder) or not all(type(weight) is nn.Parameter and not weight.is_meta for weight in weights):
        return
    if embedded.shape == projected.shape and embedded.data_ptr() == projected.data_ptr():
        _tie(model.decoder)


class EncoderDecoder(Called, nn.Module):
    config: TransformerConfig

    def __init__(self, encoder: TransformerEncoder | None, decoder: TransformerDecoder | None, pooler: Pooler | None = None):
        super().__init__()
        check_parts(encoder=encoder, decoder=decoder, pooler=pooler)
        self.encoder = encoder
        self.decoder = decoder
        self.pooler = pooler
        self.register_load_state_dict_post_hook(_tie_what_shares_memory)

    @classmethod
    def from_config(cls, config: TransformerConfig) -> EncoderDecoder:
        check_config(config)
        encoder = TransformerEncoder(**encoder_arguments(config)) if config.has_encoder else None
        decoder = TransformerDecoder(**decoder_arguments(config)) if config.has_decoder else None
        if config.share_embeddings:
            decoder.embedding = encoder.embedding
        if config.tie_output:
            _tie(decoder)
        model = cls(encoder, decoder, Pooler(config.num_hiddens) if config.pooler else None)
        model.config = config
        return model

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> EncoderDecoder:
        """Keep weights tied where ``fn`` gives each other memory, as ``to_empty`` does."""
        tied = _is_tied(self.decoder)
        super()._apply(fn, recurse)
        if tied and not _is_tied(self.decoder):
            _tie(self.decoder)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Tie a copy, or what was saved whole: parameters lose their hooks."""
        super().__setstate__(state)
        if _is_tied(self.decoder):
            _tie(self.decoder)

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
