"""The attention of one sentence and its translation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..translation import Translator


class SentenceAttention(NamedTuple):
    """What looked where in one sentence and its translation.

    source, target: tokens, the last of each being <eos>. inputs: what the decoder read, the start token first; step t read
    ``inputs[t]`` and chose ``target[t]``. weights: by kind as ``Backend.attention`` names them, one [H, T, S] per layer; row t
    of ``decoder_cross`` are the weights with which target token t was chosen.
    """

    source: list[str]
    inputs: list[str]
    target: list[str]
    weights: dict[str, list[np.ndarray]]


def attention_of(translator: Translator, line: str, translation: str) -> SentenceAttention:
    sides = ((translator.source_vocabulary, line), (translator.target_vocabulary, translation))
    source, target = ([*vocabulary.encode(text), vocabulary.eos_id] for vocabulary, text in sides)
    inputs = [translator.model.config.start_id, *target[:-1]]
    arrays = np.array([source]), np.array([inputs]), np.array([len(source)])
    by_kind = translator.backend.attention(translator.model, *arrays)
    read, chosen = (translator.target_vocabulary.tokens(ids) for ids in (inputs, target))
    weights = {kind: [np.asarray(layer[0]) for layer in layers] for kind, layers in by_kind.items()}
    return SentenceAttention(translator.source_vocabulary.tokens(source), read, chosen, weights)
