"""Beam search, written once: a backend's session computes on its device, and the bookkeeping is here."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..errors import ConfigError


class BeamSession(Protocol):
    """A cached decoding of B * beam rows, those of one source next to each other."""

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Feed one token [rows]; returns the ``count`` best log-probabilities and their ids, [rows, count] each."""
        ...

    def reorder(self, rows: np.ndarray) -> None:
        """Row r continues from what was row ``rows[r]``."""
        ...


def beam_search(
    session: BeamSession, batch: int, beam: int, max_steps: int, length_penalty: float, start_id: int, eos_id: int
) -> list[list[int]]:
    """The best of ``beam`` hypotheses for each source, without start and eos.

    A hypothesis of n tokens (eos counted) scores log p / ((5 + n) / 6) ** length_penalty (Wu et al. 2016,
    equation 14). A source is done when no open hypothesis can score higher than its best finished one could be
    beaten by: log p only falls, so an open one is bounded by its log p at the largest penalty.
    """
    if beam < 1:
        raise ConfigError(f"beam must be at least 1, but {beam} came.")
    rows = np.arange(batch)[:, None]
    scores = np.full((batch, beam), -np.inf)
    scores[:, 0] = 0.0  # all beams start equal, so only one of them may branch
    tokens = np.full((batch, beam), start_id)
    history = np.zeros((batch, beam, 0), dtype=np.int64)
    finished: list[tuple[float, list[int]]] = [(-np.inf, [])] * batch
    done = np.zeros(batch, dtype=bool)
    for length in range(1, max_steps + 1):
        log_probs, ids = session.step(tokens.reshape(-1), beam + 1)
        count = log_probs.shape[1]  # at most beam + 1: of these one can be eos, so beam continue
        candidates = (scores.reshape(-1, 1) + log_probs).reshape(batch, beam * count)
        ids = ids.reshape(batch, beam * count)
        ended = (ids == eos_id) | (length == max_steps)
        _finish(finished, done, candidates, ids, history, ended, count, length, length_penalty, eos_id)
        open_scores = np.where(ended, -np.inf, candidates)
        best = np.argsort(-open_scores, axis=1, kind="stable")[:, :beam]
        scores, tokens, parents = open_scores[rows, best], ids[rows, best], best // count
        history = np.concatenate([history[rows, parents], tokens[..., None]], axis=2)
        for b in range(batch):
            bound = scores[b, 0] / _penalty(max_steps if length_penalty > 0 else length + 1, length_penalty)
            done[b] = done[b] or finished[b][0] >= bound
        if done.all():
            break
        session.reorder((parents + rows * beam).reshape(-1))
    return [hypothesis for _, hypothesis in finished]


def _penalty(length: int, length_penalty: float) -> float:
    return float(((5.0 + length) / 6.0) ** length_penalty)


def _finish(
    finished: list[tuple[float, list[int]]],
    done: np.ndarray,
    candidates: np.ndarray,
    ids: np.ndarray,
    history: np.ndarray,
    ended: np.ndarray,
    count: int,
    length: int,
    length_penalty: float,
    eos_id: int,
) -> None:
    """Keep the best ended candidate of each source that is still open."""
    for b in np.flatnonzero(~done & ended.any(axis=1)):
        scores = np.where(ended[b], candidates[b], -np.inf) / _penalty(length, length_penalty)
        winner = int(scores.argmax())
        if scores[winner] > finished[b][0]:
            last = int(ids[b, winner])
            hypothesis = [*history[b, winner // count].tolist(), last]
            finished[b] = (float(scores[winner]), hypothesis[:-1] if last == eos_id else hypothesis)
