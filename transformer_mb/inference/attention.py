"""The attention of one sentence and its translation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ConfigError
from .translation import Translator


class SentenceAttention(NamedTuple):
    """The attention of one sentence and its translation.

    source: tokens as they were typed, then <eos>; those that the vocabulary lacks were <unk> to the model. target: likewise,
    without <eos> where the translation fills all of the model's positions. inputs: what the decoder read, the start token
    first; step t read ``inputs[t]`` and chose ``target[t]``. weights: by kind as ``Backend.attention`` names them, one
    [H, T, S] per layer; row t of ``decoder_cross`` are the weights with which target token t was chosen.
    """

    source: list[str]
    inputs: list[str]
    target: list[str]
    weights: dict[str, list[np.ndarray]]


def attention_of(translator: Translator, line: str, translation: str) -> SentenceAttention | None:
    """Run the model on both once more: a search on a device keeps no weights. None for a line without tokens."""
    if len(translator.models) > 1:
        raise ConfigError(f"Attention is drawn of one model, got an ensemble of {len(translator.models)}.")
    sources, targets, max_len = translator.source_vocabulary, translator.target_vocabulary, translator.config.max_len
    pieces = translator.tokens(line)
    if not pieces:
        return None
    source = sources.framed(sources.encoded(pieces))
    target = targets.framed(targets.encode(translation))[:max_len]
    inputs = [translator.models[0].config.start_id, *target[:-1]]
    arrays = np.array([source]), np.array([inputs]), np.array([len(source)])
    by_kind = translator.backend.attention(translator.models[0], *arrays)
    weights = {kind: [np.asarray(layer[0]) for layer in layers] for kind, layers in by_kind.items()}
    shown = [*sources.tokens(sources.opening), *pieces, *sources.tokens(sources.closing)]
    return SentenceAttention(shown, targets.tokens(inputs), targets.tokens(target), weights)
