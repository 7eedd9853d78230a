"""Answers of a translator to numbered lines, as rows of text: translations, or hypotheses with their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..decoding.sampling import Sampling
from .search_options import LineOptions
from .translation import Translator


class Scored(Protocol):
    """A Hypothesis, or ScoredIds."""

    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...


def scored_row(number: int, one: Scored, text: str) -> str:
    return f"{number}\t{one.score:.6f}\t{one.log_probability:.6f}\t{text}"


@dataclass(frozen=True)
class Search:
    """The search of a command. ``n_best``: rows of each line, with scores; None: its translation alone."""

    beam: int
    length_penalty: float
    n_best: int | None
    coverage_penalty: float
    sample: Sampling | None
    max_ratio: float | None
    as_published: bool

    def answer(
        self, translator: Translator, lines: Sequence[str], prefixes: Sequence[str] | None, first: int
    ) -> tuple[list[str], list[str]]:
        """Return the rows of these lines, the first of which has this number, from 1, and the best text of each."""
        more = LineOptions(
            coverage_penalty=self.coverage_penalty,
            sample=self.sample,
            prefixes=prefixes,
            max_ratio=self.max_ratio,
            as_published=self.as_published,
            first=first - 1,
        )
        if self.n_best is None:
            texts = translator.translate(lines, self.beam, self.length_penalty, **more)
            return texts, texts
        found = translator.hypotheses(lines, self.beam, self.n_best, self.length_penalty, **more)
        numbered = enumerate(found, start=first)
        rows = [scored_row(number, one, one.text) for number, hypotheses in numbered for one in hypotheses]
        return rows, [hypotheses[0].text for hypotheses in found]
