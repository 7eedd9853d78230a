"""Rules of a GenerationConfig: what each makes of the scores of all tokens, in the order in which transformers applies them.

Each is a function of the ids so far [R, T] and the scores [R, V] of the next one, logits or log-probabilities, to new scores.
A row is a hypothesis; those of one source lie next to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .generation_config import GenerationConfig

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def score_rules(
    generation: GenerationConfig,
    *,
    eos_id: int,
    never: Sequence[int],
    prompt: int,
    longest: int,
    sources: Sequence[np.ndarray],
) -> list[Rule]:
    """The rules of a search.

    Args:
        never: ids that are not generated whatever the configuration says. prompt: tokens before the first generated one.
        longest: the length at which an output is cut, the prompt counted. sources: the ids of each source, or prompt.
    """
    g = generation
    rules: list[tuple[bool, Callable[[], Rule]]] = [
        (bool(g.sequence_bias), lambda: _biased(g.sequence_bias)),
        (g.encoder_repetition_penalty != 1.0, lambda: _of_sources(_penalized(1.0 / g.encoder_repetition_penalty), sources)),
        (g.repetition_penalty != 1.0, lambda: _of_history(_penalized(g.repetition_penalty))),
        (g.no_repeat_ngram_size > 0, lambda: _of_history(_without_ngrams(g.no_repeat_ngram_size))),
        (g.encoder_no_repeat_ngram_size > 0, lambda: _of_sources(_without_ngrams(g.encoder_no_repeat_ngram_size), sources)),
        (bool(g.bad_words_ids), lambda: _biased([(word, -np.inf) for word in g.bad_words_ids if word != (eos_id,)])),
        (g.min_new_tokens is None, lambda: _without([eos_id], until=g.min_length)),
        (g.min_new_tokens is not None, lambda: _without([eos_id], until=prompt + (g.min_new_tokens or 0))),
        (g.forced_bos_token_id is not None, lambda: _forced(g.forced_bos_token_id, 1)),
        (g.forced_eos_token_id is not None, lambda: _forced(g.forced_eos_token_id, longest - 1)),
        (g.exponential_decay_length_penalty is not None, lambda: _ending_sooner(*_decay(g), eos_id, prompt)),
        (bool(g.suppress_tokens), lambda: _without(g.suppress_tokens)),
        (bool(g.begin_suppress_tokens), lambda: _without_at(g.begin_suppress_tokens, _begin(g, prompt))),
        (bool(never), lambda: _without(never)),
        (g.renormalize_logits, lambda: lambda history, scores: log_softmax(scores)),
    ]
    return [made() for wanted, made in rules if wanted]


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """[R, V], in float64."""
    wide = scores - scores.max(axis=-1, keepdims=True).astype(np.float64)
    return np.asarray(wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True)))


def _decay(generation: GenerationConfig) -> tuple[int, float]:
    return generation.exponential_decay_length_penalty or (0, 1.0)


def _begin(generation: GenerationConfig, prompt: int) -> int:
    """The length at which the first token is chosen that is not forced."""
    return prompt if prompt > 1 or generation.forced_bos_token_id is None else prompt + 1


def _biased(biases: Iterable[tuple[Sequence[int], float]]) -> Rule:
    """Add its number to the last token of a list wherever the others of it have just come."""
    listed = [(np.array(word[:-1], np.int64), word[-1], number) for word, number in biases]

    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        added = np.zeros_like(scores)
        for before, last, number in listed:
            if len(before) <= history.shape[1]:
                rows = (history[:, history.shape[1] - len(before) :] == before).all(axis=1)
                added[rows, last] += number
        return scores + added

    return rule


OnIds = Callable[[np.ndarray, np.ndarray, np.ndarray], None]  # the ids that count, the ids so far, scores [V] to be changed


def _of_history(change: OnIds) -> Rule:
    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        scores = scores.copy()
        for ids, row in zip(history, scores, strict=True):
            change(ids, ids, row)
        return scores

    return rule


def _of_sources(change: OnIds, sources: Sequence[np.ndarray]) -> Rule:
    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        scores, beam = scores.copy(), len(scores) // len(sources)
        for number, (ids, row) in enumerate(zip(history, scores, strict=True)):
            change(sources[number // beam], ids, row)
        return scores

    return rule


def _penalized(penalty: float) -> OnIds:
    """Make tokens that came less likely (Keskar et al. 2019, CTRL), once each; or more, by a penalty below 1."""

    def change(counted: np.ndarray, ids: np.ndarray, scores: np.ndarray) -> None:
        values = scores[counted]
        scores[counted] = np.where(values < 0, values * penalty, values / penalty)

    return change


def _without_ngrams(size: int) -> OnIds:
    """Rule out what would end an n-gram that is there already (Paulus et al. 2017)."""

    def change(counted: np.ndarray, ids: np.ndarray, scores: np.ndarray) -> None:
        if len(ids) + 1 < size or len(counted) < size:
            return
        windows = np.lib.stride_tricks.sliding_window_view(counted, size)
        same = (windows[:, :-1] == ids[len(ids) + 1 - size :]).all(axis=1)
        scores[windows[same, -1]] = -np.inf

    return change


def _without(ids: Sequence[int], until: int | None = None) -> Rule:
    """Rule out tokens, of a ``until`` only as long as the ids so far are fewer."""

    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores if until is not None and history.shape[1] >= until else _ruled_out(scores, ids)

    return rule


def _without_at(ids: Sequence[int], length: int) -> Rule:
    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return _ruled_out(scores, ids) if history.shape[1] == length else scores

    return rule


def _ruled_out(scores: np.ndarray, ids: Sequence[int]) -> np.ndarray:
    scores = scores.copy()
    scores[:, list(ids)] = -np.inf
    return scores


def _forced(token: Any, length: int) -> Rule:
    """Leave one token at one length, with a score of 0."""

    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        if history.shape[1] != length:
            return scores
        forced = np.full_like(scores, -np.inf)
        forced[:, token] = 0.0
        return forced

    return rule


def _ending_sooner(start: int, factor: float, eos_id: int, prompt: int) -> Rule:
    """Let the end gain by a power of ``factor`` for each token beyond ``start``."""

    def rule(history: np.ndarray, scores: np.ndarray) -> np.ndarray:
        beyond = history.shape[1] - start - prompt
        if beyond <= 0:
            return scores
        scores, possible = scores.copy(), np.isfinite(scores[:, eos_id])
        end = scores[possible, eos_id]
        scores[possible, eos_id] = end + np.abs(end) * (factor**beyond - 1.0)
        return scores

    return rule
