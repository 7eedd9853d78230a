"""``--n-best`` and ``--scores``: hypotheses with their scores instead of texts."""

from __future__ import annotations

from typing import Protocol


class Scored(Protocol):
    """A Hypothesis, or ScoredIds."""

    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...


def hypotheses_asked_for(n_best: int | None, scores: bool) -> int | None:
    """How many of each line are printed with their scores; None where texts alone are."""
    return n_best or 1 if n_best or scores else None


def scored_row(number: int, one: Scored, text: str) -> str:
    return f"{number}\t{one.score:.6f}\t{one.log_probability:.6f}\t{text}"
