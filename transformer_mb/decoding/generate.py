"""Greedy and beam search as transformers' ``generate`` makes them, on a session of any backend: the search of published models.

Ours (``beam_search``) differs in what it divides by, in when it stops, and in which hypotheses may end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .score_rules import Rule, log_softmax
from .session import BeamSession

NOTHING = -1.0e9  # the score of what is not there, which any hypothesis exceeds


def generate_greedily(session: BeamSession, rules: Sequence[Rule], prompt: np.ndarray, steps: int, eos_id: int) -> np.ndarray:
    """[B, at most steps]: of the logits that the rules leave the highest, of equal ones the lowest id; eos ends a row."""
    history, finished = prompt, np.zeros(len(prompt), bool)
    for _ in range(steps):
        scores = session.logits(history[:, -1])
        for rule in rules:
            scores = rule(history, scores)
        tokens = scores.argmax(axis=1)
        history = np.concatenate([history, tokens[:, None]], axis=1)
        finished |= tokens == eos_id
        if finished.all():
            break
    return history[:, prompt.shape[1] :]


def generate_by_beam(
    session: BeamSession,
    rules: Sequence[Rule],
    prompt: np.ndarray,
    steps: int,
    eos_id: int,
    beam: int,
    length_penalty: float,
    early_stopping: bool | str,
) -> np.ndarray:
    """[B, steps], -1 after the end of a row: the best of ``beam`` finished hypotheses for each row of ``prompt`` [B, T].

    Of 2 * beam candidates those among the first ``beam`` may end, by eos or at the last step, and score log p divided by their
    length to the power of ``length_penalty``. A row is done when its best open hypothesis, divided by the present length,
    does not exceed the worst of ``beam`` finished ones; by ``early_stopping`` as soon as there are so many, or "never" before
    the longest length divides it.
    """
    batch, given = prompt.shape
    rows = np.arange(batch)[:, None]
    history = np.repeat(prompt[:, None], beam, axis=1)
    scores = np.full((batch, beam), NOTHING)
    scores[:, 0] = 0.0  # all hypotheses of a row begin alike, so only one of them may branch
    finished = np.full((batch, beam, steps), -1)
    best, ended = np.full((batch, beam), NOTHING), np.zeros((batch, beam), bool)
    improvable = np.ones(batch, bool)
    for step in range(1, steps + 1):
        flat = history.reshape(batch * beam, -1)
        log_probs = log_softmax(session.logits(flat[:, -1]))
        for rule in rules:
            log_probs = rule(flat, log_probs)
        vocabulary = log_probs.shape[1]
        totals = log_probs.reshape(batch, beam, vocabulary) + scores[:, :, None]
        order = _highest(totals.reshape(batch, -1), 2 * beam)
        candidates = np.take_along_axis(totals.reshape(batch, -1), order, axis=1)
        parents, tokens = order // vocabulary, order % vocabulary
        stops = (tokens == eos_id) | (step == steps)
        paths = np.concatenate([history[rows, parents], tokens[:, :, None]], axis=2)

        allowed = improvable & ~(ended.all(axis=1) & (early_stopping is True))
        ending = stops & (np.arange(2 * beam) < beam)
        final = np.where(ending & allowed[:, None], candidates / step**length_penalty, -np.inf)
        padded = np.full((batch, 2 * beam, steps), -1)
        padded[:, :, :step] = paths[:, :, given:]
        best, finished, ended = _best(beam, np.hstack([best, final]), np.hstack([finished, padded]), np.hstack([ended, ending]))

        kept = np.argsort(-np.where(stops, candidates + NOTHING, candidates), axis=1, kind="stable")[:, :beam]
        scores = np.where(stops, candidates + NOTHING, candidates)[rows, kept]
        history = paths[rows, kept]
        session.reorder((parents[rows, kept] + rows * beam).reshape(-1))
        length = steps if early_stopping == "never" and length_penalty > 0.0 else step
        improvable &= scores[:, 0] / length**length_penalty > best.min(axis=1)
        if not improvable.any() or (early_stopping is True and ended.all()):
            break
    return finished[:, 0]


def _best(count: int, scores: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The ``count`` highest scores of each row, the first ones of equal ones, and what belongs to them."""
    kept = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    rows = np.arange(len(scores))[:, None]
    return (scores[rows, kept], *(array[rows, kept] for array in arrays))


def _highest(scores: np.ndarray, count: int) -> np.ndarray:
    """The columns of the highest scores, the highest first, of equal ones the first."""
    some = np.sort(np.argpartition(-scores, count - 1, axis=1)[:, :count], axis=1)
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)
