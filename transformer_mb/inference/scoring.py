"""The probabilities that a model gives to translations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..backend import Backend
from ..data.padding import BUCKET_WIDTHS, padded_widths
from ..data.readers import checked_pairs
from ..decoding.inputs import decoding_inputs
from ..errors import TokenError
from .text_model import TextModel

LARGEST = 1 << 23  # logits that are held at once, in float64


class PairScore(NamedTuple):
    """log_probability: natural logarithm, of all tokens of the target and of the <eos> that ends it. NaN where skipped.

    tokens: as the vocabulary has them, <eos> the last; log_probabilities: of each of them, given those before it.
    """

    log_probability: float
    tokens: list[str]
    log_probabilities: list[float]

    @property
    def per_token(self) -> float:
        """The mean over the tokens, <eos> counted."""
        return self.log_probability / max(len(self.tokens), 1)


SKIPPED = PairScore(float("nan"), [], [])


def token_log_probabilities(
    backend: Backend, model: Any, source: Any, source_valid_lens: Any, target_in: np.ndarray, target_out: np.ndarray
) -> np.ndarray:
    """[B, T] float64: of each token of ``target_out`` given the source and ``target_in``, both [B, T].

    Over the tokens that decoding may produce, as a search's ``log_probability`` is. A token that it never produces
    (``suppress_ids``, such as <unk>) has its probability among all, or -inf where ``compat_decode`` is d2l.
    """
    if model.config.compat_decode == "d2l":  # whose logits of a whole target see what comes after, and the padding
        return _of_steps(backend, model, source, source_valid_lens, target_in, target_out)
    logits = backend.logits(model, source, target_in, source_valid_lens).astype(np.float64)
    chosen = np.take_along_axis(logits, target_out[..., None], axis=-1)[..., 0]
    suppressed = list(model.config.suppress_ids)
    among_all = _log_sum(logits)
    logits[..., suppressed] = -np.inf
    return np.asarray(chosen - np.where(np.isin(target_out, suppressed), among_all, _log_sum(logits)))


def _of_steps(
    backend: Backend, model: Any, source: Any, source_valid_lens: Any, target_in: np.ndarray, target_out: np.ndarray
) -> np.ndarray:
    """Compute the log-probabilities [B, steps] of ``target_out`` as a search does."""
    steps = target_in.shape[1]
    inputs, _ = decoding_inputs(model.config, source, source_valid_lens, steps, None, "score")
    found = np.empty(target_in.shape)
    with backend._decoding(model):
        session = backend.start_beam(model, inputs, steps, 1)
        for step in range(steps):
            every = session.log_probabilities(target_in[:, step])
            found[:, step] = np.take_along_axis(every, target_out[:, step, None], axis=-1)[:, 0]
    return found


def _log_sum(logits: np.ndarray) -> np.ndarray:
    highest = logits.max(axis=-1)
    return np.asarray(highest + np.log(np.exp(logits - highest[..., None]).sum(axis=-1)))


def scored_pairs(translator: TextModel, pairs: Iterable[tuple[str, str]], first: int = 1) -> list[PairScore]:
    """``Translator.score``: pairs of similar length together, the results in the order of the pairs."""
    source, target = translator.source_vocabulary, translator.target_vocabulary
    ids = [(source.encode(one), target.encode(other)) for one, other in checked_pairs(pairs)]
    results = [SKIPPED] * len(ids)
    taken: list[tuple[int, list[int], list[int]]] = []
    for number, sides in enumerate(ids):
        count = max(map(len, sides))
        if count > translator.longest:
            translator.on_long(number + first, count)
            if translator.too_long == "stop":
                raise pair_length_error(translator, number + first, count)
        if count <= translator.longest or translator.too_long == "cut":
            taken.append((number, sides[0][: translator.longest], sides[1][: translator.longest]))
    taken.sort(key=lambda one: max(len(one[1]), len(one[2])))
    # As many rows as the longest allows, so that their logits fit into memory.
    size = max(1, min(translator.batch_size, LARGEST // (translator.config.max_len * len(target))))
    for start in range(0, len(taken), size):
        numbers, sources, targets = zip(*taken[start : start + size], strict=True)
        for number, score in zip(numbers, _scored(translator, sources, targets), strict=True):
            results[number] = score
    return results


def _scored(translator: TextModel, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[PairScore]:
    config, most = translator.config, translator.config.max_len
    read, lens = _padded(list(map(translator.source_vocabulary.framed, sources)), config.pad_id, most)
    written, counts = _padded(list(map(translator.target_vocabulary.framed, targets)), config.pad_id, most)
    fed = np.concatenate([np.full((len(written), 1), config.start_id), written[:, :-1]], axis=1)
    each = [token_log_probabilities(translator.backend, model, read, lens, fed, written) for model in translator.models]
    found = np.logaddexp.reduce(each, axis=0) - np.log(len(each))
    rows = [row[:count] for row, count in zip(found, counts, strict=True)]
    tokens = [translator.target_vocabulary.tokens(ids[:count]) for ids, count in zip(written, counts, strict=True)]
    return [PairScore(float(row.sum()), names, row.tolist()) for row, names in zip(rows, tokens, strict=True)]


def _padded(rows: Sequence[Sequence[int]], pad_id: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """[B, width] and how many of each row there are; of few widths, so that a compiler works seldom."""
    lens = np.array([len(row) for row in rows])
    width = int(padded_widths(lens, None, BUCKET_WIDTHS, most).max())
    return np.array([[*row, *repeat(pad_id, width - len(row))] for row in rows]), lens


def pair_length_error(translator: TextModel, number: int, count: int) -> TokenError:
    """The error of a pair with a side that is too long; ``number`` is counted from 1."""
    error = TokenError(
        f"Pair {number} must have at most {translator.longest} tokens on each side (max_len = {translator.config.max_len}, "
        f"<eos> counted), but one has {count}."
    )
    error.line = number
    return error
