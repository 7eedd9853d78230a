"""Text of ids where the vocabulary alone cannot make it: the words of a prefix, and words of the source in place of <unk>."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.vocabulary import Vocabulary
from .text_model import TextModel


class Hypothesis(NamedTuple):
    """A translation, one of several.

    tokens: as the vocabulary has them. log_probability: natural logarithm, of all tokens and of the <eos> that ends them.
    score: ``log_probability / ((5 + n) / 6) ** length_penalty``, n being the tokens with <eos>, and what a coverage penalty
    adds; it orders hypotheses. The tokens of a prefix count in neither.
    """

    text: str
    tokens: list[str]
    score: float
    log_probability: float


NOTHING = Hypothesis("", [], 0.0, 0.0)  # what an empty line becomes


def with_prefix(vocabulary: Vocabulary, written: str, prefix: str, ids: Sequence[int]) -> str:
    """``written`` with its prefix as the caller wrote it: in upper case, or with words that the vocabulary lacks."""
    read = vocabulary.decode(ids)
    if not ids or not written.startswith(read):
        return written
    rest = written[len(read) :]
    return f"{prefix.rstrip()}{rest}" if rest[:1].isspace() or not rest else f"{prefix}{rest}"


def replaced_unknown(translator: TextModel, line: str, ids: Sequence[int]) -> str:
    """The text of ids, each <unk> being the token of the source that its step attended to most.

    By the last block's cross-attention, the mean over its heads and over the models; the source's <eos> does not count.
    """
    vocabulary, config, sources = translator.target_vocabulary, translator.config, translator.source_vocabulary
    pieces = translator.tokens(line)
    source, first = np.array([sources.framed(translator.ids(line))]), len(sources.opening)
    fed = np.array([[config.start_id, *ids[:-1]]])
    each = [translator.backend.attention(model, source, fed, None)["decoder_cross"][-1] for model in translator.models]
    weights = np.mean([np.asarray(one[0], np.float64).mean(axis=0) for one in each], axis=0)
    nearest = weights[:, first : first + len(pieces)].argmax(axis=-1)
    silent = {vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id}
    found = zip(ids, vocabulary.tokens(ids), nearest.tolist(), strict=True)
    words = [pieces[place] if number == vocabulary.unk_id else token for number, token, place in found if number not in silent]
    return vocabulary.pipeline.detokenize(words)
