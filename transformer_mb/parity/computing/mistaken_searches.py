"""Searches with a mistake: negative controls of the rows of tokens."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ...backend import Backend
from ...decoding.beam_search import ScoredIds
from ...decoding.session import BeamSession
from .plain import PlainSearch


class Mistaken:
    """A session of a search that does one thing otherwise."""

    def __init__(self, session: BeamSession, vocab_size: int):
        self.session, self.vocab_size = session, vocab_size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


class NotReordered(Mistaken):
    """A mistake: the caches do not follow their hypotheses."""

    def reorder(self, rows: np.ndarray) -> None:
        pass


class LastOfEqual(Mistaken):
    """A mistake: the highest id of equal logits wins."""

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        log_probs, ids = self.session.step(tokens, self.vocab_size)
        order = np.lexsort((-ids, -log_probs))[:, :count]
        return np.take_along_axis(log_probs, order, axis=1), np.take_along_axis(ids, order, axis=1)


class NextRowsCoverage(Mistaken):
    """A mistake: each hypothesis covers what another one attended to."""

    def attention(self) -> np.ndarray:
        return np.roll(self.session.attention(), 1, axis=0)


MISTAKES: dict[str, type[Mistaken]] = {
    "caches not reordered": NotReordered,
    "the last of equal logits": LastOfEqual,
    "coverage of the next row": NextRowsCoverage,
}


HURRIED = "ended by today's length"


def mistaken(backend: Backend, mistake: str | None) -> Backend:
    """Return the same backend with a search that makes one of MISTAKES, or is HURRIED; None makes none."""
    if mistake is None:
        return backend
    broken = copy(backend)
    if mistake == HURRIED:
        broken.hypotheses = _hurried(backend)  # type: ignore[method-assign]
        return broken

    def start_beam(model: Any, *arguments: Any) -> Mistaken:
        return MISTAKES[mistake](backend.start_beam(model, *arguments), model.config.target_vocab_size)

    broken.start_beam = start_beam  # type: ignore[method-assign,assignment]
    return broken


def _hurried(backend: Backend) -> Callable[..., list[list[ScoredIds]]]:
    """A beam search that ends where no open hypothesis would be better if it ended now."""

    def hypotheses(*given: Any, **options: Any) -> list[list[ScoredIds]]:
        return PlainSearch(backend, *given, **{**options, "hurried": True}).run()

    return hypotheses
