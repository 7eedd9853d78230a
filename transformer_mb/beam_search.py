"""Beam search, written once: a backend's session computes on its device, and the bookkeeping is here."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .errors import ConfigError


class BeamSession(Protocol):
    """A cached decoding of B * beam rows, those of one source next to each other."""

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Feed one token [rows]; returns the ``count`` best log-probabilities and their ids, [rows, count] each."""
        ...

    def reorder(self, rows: np.ndarray) -> None:
        """Row r continues from what was row ``rows[r]``."""
        ...


def beam_search(
    session: BeamSession, batch: int, beam: int, max_steps: int, length_penalty: float, first_tokens: np.ndarray, eos_id: int
) -> list[list[int]]:
    """The best hypothesis found for each source, without ``first_tokens`` [B], which are fed at first, and without eos.

    A hypothesis of n tokens (eos counted) scores log p / ((5 + n) / 6) ** length_penalty (Wu et al. 2016,
    equation 14). log p only falls, so an open hypothesis ends no higher than its log p at the longest length's
    penalty: a source is done when its best finished one is not below that.
    """
    if beam < 1 or length_penalty < 0.0:
        raise ConfigError(f"beam must be at least 1 and length_penalty at least 0, got {beam} and {length_penalty}.")
    rows = np.arange(batch)[:, None]
    scores = np.full((batch, beam), -np.inf)
    scores[:, 0] = 0.0  # all rows of a source start equal, so only one of them may branch
    tokens = np.repeat(first_tokens[:, None], beam, axis=1)
    history = np.zeros((batch, beam, 0), dtype=np.int64)
    best = Finished(batch)
    for length in range(1, max_steps + 1):
        # Of a row's beam + 1 best tokens one may be eos, so that beam of them go on.
        log_probs, ids = session.step(tokens.reshape(-1), beam + 1)
        count = ids.shape[1]
        candidates = (scores.reshape(-1, 1) + log_probs).reshape(batch, beam * count)
        ids = ids.reshape(batch, beam * count)
        ended = (ids == eos_id) | (length == max_steps)
        best.add(np.where(ended, candidates, -np.inf) / _penalty(length, length_penalty), ids, history, count)
        candidates[ended] = -np.inf
        kept = np.argsort(-candidates, axis=1, kind="stable")[:, :beam]
        scores, tokens, parents = candidates[rows, kept], ids[rows, kept], kept // count
        if (best.scores >= scores[:, 0] / _penalty(max_steps, length_penalty)).all():
            break
        history = np.concatenate([history[rows, parents], tokens[..., None]], axis=2)
        session.reorder((parents + rows * beam).reshape(-1))
    return [sequence[:-1] if sequence[-1] == eos_id else sequence for sequence in best.sequences]


def _penalty(length: int, length_penalty: float) -> float:
    return float(((5.0 + length) / 6.0) ** length_penalty)


class Finished:
    """The best finished hypothesis of each source so far."""

    def __init__(self, batch: int):
        self.scores = np.full(batch, -np.inf)
        self.sequences: list[list[int]] = [[] for _ in range(batch)]

    def add(self, scores: np.ndarray, ids: np.ndarray, history: np.ndarray, count: int) -> None:
        """Candidates [B, beam * count]: those of one row next to each other, -inf where not finished."""
        winners = scores.argmax(axis=1)
        for b in np.flatnonzero(scores.max(axis=1) > self.scores):
            winner = winners[b]
            self.scores[b] = scores[b, winner]
            self.sequences[b] = [*history[b, winner // count].tolist(), int(ids[b, winner])]
