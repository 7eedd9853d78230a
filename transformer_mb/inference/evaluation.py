"""How good translations are: BLEU and chrF by sacreBLEU with their signatures, and exact matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..data.vocabulary import Vocabulary
from ..errors import DataError


class Score(NamedTuple):
    """A corpus score from 0 to 100, and the signature that says how sacreBLEU computed it."""

    value: float
    signature: str


class Evaluation(NamedTuple):
    """What ``evaluate`` measures.

    exact_match: the share of pairs whose translation is one of the targets that are listed for this source;
    distinct_exact_match: the same over distinct sources. four_grams: the sequences of four words in the translations, which
    BLEU counts among others; where there is none, it is 0 whatever the translations are.
    """

    pairs: int
    distinct_sources: int
    bleu: Score
    chrf: Score
    exact_match: float
    distinct_exact_match: float
    four_grams: int

    def to_dict(self) -> dict[str, Any]:
        scores = {"bleu": self.bleu._asdict(), "chrf": self.chrf._asdict()}
        return {**self._asdict(), **scores}


def evaluate(pairs: Sequence[tuple[str, str]], translations: Sequence[str]) -> Evaluation:
    """Compare translations, one for each pair, with the targets.

    BLEU and chrF compare each with its own pair's target. Both sides are compared as they come: what a pipeline
    loses, such as upper case, the targets must have lost too (see ``normalized``).
    """
    if not pairs or len(pairs) != len(translations):
        raise DataError(f"One translation for each pair was expected, got {len(translations)} for {len(pairs)} pairs.")
    hits = exact_matches(pairs, translations)
    by_source: dict[str, bool] = {}
    for (source, _), hit in zip(pairs, hits, strict=True):
        by_source.setdefault(source, hit)
    references = [target for _, target in pairs]
    bleu, four_grams = _bleu(translations, references)
    return Evaluation(
        pairs=len(pairs),
        distinct_sources=len(by_source),
        bleu=bleu,
        chrf=chrf(translations, references),
        exact_match=sum(hits) / len(hits),
        distinct_exact_match=sum(by_source.values()) / len(by_source),
        four_grams=four_grams,
    )


def exact_matches(pairs: Sequence[tuple[str, str]], translations: Sequence[str]) -> list[bool]:
    """Whether each translation is any of the targets that the pairs list for its source."""
    accepted: dict[str, set[str]] = {}
    for source, target in pairs:
        accepted.setdefault(source, set()).add(target)
    return [text in accepted[source] for (source, _), text in zip(pairs, translations, strict=True)]


def bleu(translations: Sequence[str], references: Sequence[str]) -> Score:
    return _bleu(translations, references)[0]


def _bleu(translations: Sequence[str], references: Sequence[str]) -> tuple[Score, int]:
    from sacrebleu.metrics import BLEU  # here, since nothing else needs it; force: no warnings about tokenized text

    metric = BLEU(force=True)
    result = metric.corpus_score(list(translations), [list(references)])
    return Score(float(result.score), str(metric.get_signature())), int(result.totals[3])


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    result = metric.corpus_score(list(translations), [list(references)])
    return Score(float(result.score), str(metric.get_signature()))


def normalized(pairs: Sequence[tuple[str, str]], source: Vocabulary, target: Vocabulary) -> list[tuple[str, str]]:
    """The pairs as the two sides' vocabularies leave them: what a perfect model could read and write."""
    return [(source.normalized(text), target.normalized(other)) for text, other in pairs]
