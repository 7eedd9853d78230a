"""Beam search, written once: a backend's session computes on its device, and the bookkeeping is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..call_checks import check_between
from ..config import check_sizes
from ..errors import ConfigError, NotFiniteError
from .coverage_penalty import Coverage
from .session import BeamSession

LENGTH_PENALTY = 0.6  # of Vaswani et al. 2017, section 6.1
LARGEST_BEAM = 1000  # a search's time and memory grow by it; translations get no better above some dozens
LARGEST_LENGTH_PENALTY = 10.0  # far above what anybody uses; the powers of the longest sequences stay finite numbers


class ScoredIds(NamedTuple):
    """A finished hypothesis; ids without the first token and, in what a search returns, without eos.

    log_probability: of all its tokens, eos included, a prefix not. score: the same after the length penalty, and with the
    coverage penalty; by it hypotheses are ordered.
    """

    ids: list[int]
    score: float
    log_probability: float


def beam_search(
    session: BeamSession,
    limits: np.ndarray,
    beam: int,
    length_penalty: float,
    first_tokens: np.ndarray,
    eos_id: int,
    n_best: int,
    forced: np.ndarray | None = None,
) -> list[list[ScoredIds]]:
    """The ``n_best`` best hypotheses found for each source, the best first; fewer where there are no more.

    They are at most ``limits`` [B] long, begin with what is ``forced`` [B, steps] (-1 from where on a row is free), and are
    without ``first_tokens`` [B], which are fed at first, and without eos.

    A hypothesis of n tokens (eos counted, those forced not) scores log p / ((5 + n) / 6) ** length_penalty, and what a
    Coverage adds (Wu et al. 2016, equation 14). log p only falls, and coverage adds nothing above 0, so an open hypothesis
    ends no higher than its log p at the longest length's penalty: a source is done when the last of its finished ones is
    not below that. Open hypotheses are ordered by log p alone.

    Of candidates with equal scores that of the better-ranked hypothesis comes first, then that with the lower id (as the
    session's step orders them). Of finished ones with equal scores the better is that which ended first.
    """
    check_search(beam, length_penalty, n_best)
    batch = len(limits)
    rows = np.arange(batch)[:, None]
    forced = np.full((batch, 1), -1) if forced is None else forced
    given = (forced >= 0).sum(axis=1)
    penalties = _penalties(limits, length_penalty)
    longest = penalties[limits - given]
    scores = np.full((batch, beam), -np.inf)
    scores[:, 0] = 0.0  # all rows of a source start equal, so only one of them may branch
    tokens = np.repeat(first_tokens[:, None], beam, axis=1)
    history = np.zeros((batch, beam, 0), dtype=np.int64)
    finished = Finished(batch, n_best)
    for length in range(1, int(limits.max()) + 1):
        # Of a row's beam + 1 best tokens one may be eos, so that beam of them go on.
        log_probs, ids = session.step(tokens.reshape(-1), beam + 1)
        width = ids.shape[1]
        candidates = (scores.reshape(-1, 1) + log_probs).reshape(batch, beam * width)
        ids = np.array(ids).reshape(batch, beam * width)  # a copy, to force tokens in
        for row in np.flatnonzero(length <= given):  # one hypothesis, which has no choice
            candidates[row], candidates[row, 0], ids[row, 0] = -np.inf, 0.0, forced[row, length - 1]
        ended = (ids == eos_id) | (limits == length)[:, None]
        ended_scores = np.where(ended, candidates, -np.inf)
        if ended.any():
            covered = session.scores().reshape(batch, beam) if isinstance(session, Coverage) else np.zeros((batch, beam))
            divided = ended_scores / penalties[np.maximum(length - given, 0)][:, None]
            finished.add(ended_scores, divided + covered.repeat(width, axis=1), ids, history)
        candidates[ended] = -np.inf
        kept = np.argsort(-candidates, axis=1, kind="stable")[:, :beam]
        scores, tokens, parents = candidates[rows, kept], ids[rows, kept], kept // width
        if (finished.lowest >= scores[:, 0] / longest).all():
            break
        history = np.concatenate([history[rows, parents], tokens[..., None]], axis=2)
        session.reorder((parents + rows * beam).reshape(-1))
    return _without_eos(finished.hypotheses, eos_id)


def greedy_search(
    session: BeamSession,
    limits: np.ndarray,
    length_penalty: float,
    first_tokens: np.ndarray,
    eos_id: int,
    forced: np.ndarray | None = None,
) -> list[list[ScoredIds]]:
    """The most probable token at each step, scored as in ``beam_search``: one hypothesis for each source."""
    check_search(1, length_penalty, 1)
    batch = len(limits)
    forced = np.full((batch, int(limits.max())), -1) if forced is None else forced
    tokens, given = first_tokens, (forced >= 0).sum(axis=1)
    total, covered = np.zeros(batch), np.zeros(batch)
    generated: list[list[int]] = [[] for _ in range(batch)]
    running = np.ones(batch, dtype=bool)
    for length in range(1, int(limits.max()) + 1):
        log_probs, ids = session.step(tokens, 1)
        free = length > given
        tokens = np.where(free, ids[:, 0], forced[:, length - 1])
        total[running & free] += log_probs[running & free, 0]
        if isinstance(session, Coverage):
            covered[running] = session.scores()[running]
        for row in np.flatnonzero(running):
            generated[row].append(int(tokens[row]))
        running &= (tokens != eos_id) & (length < limits)
        if not running.any():
            break
    lengths = np.array([len(path) for path in generated]) - given
    scores = total / _penalties(limits, length_penalty)[lengths] + covered
    rows = zip(generated, scores.tolist(), total.tolist(), strict=True)
    paths = [ScoredIds(*row) for row in rows]
    return _without_eos([[path] if np.isfinite(path.log_probability) else [] for path in paths], eos_id)


def check_search(beam: Any, length_penalty: Any, n_best: Any) -> None:
    """Refuse what no search can be made with; every caller asks here. Raises ConfigError."""
    check_sizes(beam=beam, n_best=n_best)
    if beam > LARGEST_BEAM:
        raise ConfigError(f"beam must be from 1 to {LARGEST_BEAM}, got {beam}.")
    check_between("length_penalty", length_penalty, 0.0, LARGEST_LENGTH_PENALTY)
    if n_best > beam:
        raise ConfigError(
            f"n_best must be from 1 to the beam's {beam}, got {n_best}: --n-best {n_best} needs --beam {n_best} or more."
        )


def _penalties(limits: np.ndarray, length_penalty: float) -> np.ndarray:
    """Return the divisors of log p, by the number of tokens; no token counts as 1."""
    return np.array([((5.0 + max(length, 1)) / 6.0) ** length_penalty for length in range(int(limits.max()) + 1)], float)


def _without_eos(hypotheses: Sequence[Sequence[ScoredIds]], eos_id: int) -> list[list[ScoredIds]]:
    if not all(hypotheses):
        raise NotFiniteError("The model's log-probabilities must be finite numbers, got others: its weights have diverged.")
    return [[path._replace(ids=path.ids[:-1]) if path.ids[-1] == eos_id else path for path in found] for found in hypotheses]


class Finished:
    """The ``n_best`` best finished hypotheses of each source so far, the best first.

    lowest: [B], the score of the last of them, -inf where there are fewer.
    """

    def __init__(self, batch: int, n_best: int):
        self.n_best = n_best
        self.lowest = np.full(batch, -np.inf)
        self.hypotheses: list[list[ScoredIds]] = [[] for _ in range(batch)]

    def add(self, log_probs: np.ndarray, scores: np.ndarray, ids: np.ndarray, history: np.ndarray) -> None:
        """Candidates [B, beam * width]: those of one row next to each other, -inf where not finished."""
        width = ids.shape[1] // history.shape[1]
        for b in np.flatnonzero(scores.max(axis=1) > self.lowest):
            for winner in np.argsort(-scores[b], kind="stable")[: self.n_best]:
                if not scores[b, winner] > self.lowest[b]:
                    break
                path = [*history[b, winner // width].tolist(), int(ids[b, winner])]
                found = [*self.hypotheses[b], ScoredIds(path, float(scores[b, winner]), float(log_probs[b, winner]))]
                # Stable: of equal ones that which was found first stays before the other.
                self.hypotheses[b] = sorted(found, key=lambda one: -one.score)[: self.n_best]
                if len(self.hypotheses[b]) == self.n_best:
                    self.lowest[b] = self.hypotheses[b][-1].score
