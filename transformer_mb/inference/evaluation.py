"""Measures of translations: BLEU, chrF and TER by sacreBLEU with their signatures, and exact matches."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..data.vocabulary import Vocabulary
from ..errors import ConfigError, DataError

# How sacreBLEU parts a text into the words that BLEU counts: its name for it, and what it is for.
TOKENIZATIONS = {
    "13a": "languages with spaces",
    "intl": "the same, with all of Unicode's punctuation",
    "zh": "Chinese",
    "ja-mecab": "Japanese, with sacrebleu[ja]",
    "ko-mecab": "Korean, with sacrebleu[ko]",
    "char": "every character a word",
    "none": "words as the texts part them",
}
BY_SPACES = ("13a", "intl", "none")
# How Unicode's names of characters begin in scripts that put no space between words.
WITHOUT_SPACES = {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
SHORT = "BLEU has no sequence of four words to count: no translation is that long."
APART = "BLEU is 0 because no translation has a word of its reference; chrF counts characters."
NO_SPACES = (
    "BLEU counts words between spaces (tok:{}), of which these references have few: --tokenize zh, ja-mecab or char parts "
    "such text."
)


class Score(NamedTuple):
    """A corpus score from 0 to 100 (TER: more where more is wrong), and the signature that says how sacreBLEU computed it."""

    value: float
    signature: str


class Evaluation(NamedTuple):
    """The measures that ``evaluate`` returns.

    exact_match: the share of pairs whose translation is one of the targets that are listed for this source;
    distinct_exact_match: the same over distinct sources. four_grams: the sequences of four words in the translations, which
    BLEU counts among others; where there is none, it is 0 whatever the translations are. remarks: what a reader of these
    figures should know.
    """

    pairs: int
    distinct_sources: int
    bleu: Score
    chrf: Score
    exact_match: float
    distinct_exact_match: float
    four_grams: int
    ter: Score | None = None
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        scores = {"bleu": self.bleu._asdict(), "chrf": self.chrf._asdict(), "ter": self.ter and self.ter._asdict()}
        return {**self._asdict(), **scores, "remarks": list(self.remarks)}


def evaluate(
    pairs: Sequence[tuple[str, str]],
    translations: Sequence[str],
    *more: Sequence[str],
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    tokenize: str = "13a",
    lowercase: bool = False,
    ter: bool = False,
) -> Evaluation:
    """Compare translations, one for each pair, with the targets as they stand, so that the signatures hold of them.

    Args:
        more: further references, each with a text for each pair.
        vocabularies: of the model that translated, source first. One that writes lower case alone is compared so
            (``case:lc``), and exact matches are of texts as the vocabularies leave them.
        tokenize: one of ``TOKENIZATIONS``, for BLEU. lowercase: compare in lower case, exact matches too. ter: measure it
            too, which is slow.
    Raises:
        ConfigError: a tokenization that is not there. DataError: not as many texts as pairs.
    """
    check_tokenization(tokenize)
    for what, texts in (("translation", translations), *(("text of each reference", one) for one in more)):
        if not pairs or len(pairs) != len(texts):
            raise DataError(f"One {what} for each pair was expected, got {len(texts)} for {len(pairs)} pairs.")
    left, others = pairs, more
    if vocabularies is not None:
        left = normalized(pairs, *vocabularies)
        others = tuple([vocabularies[1].normalized(text) for text in one] for one in more)
    lowercase = lowercase or (vocabularies is not None and lowers(vocabularies[1]))
    texts = translations
    if lowercase:
        left, texts = [(source, target.lower()) for source, target in left], [text.lower() for text in translations]
        others = tuple([text.lower() for text in one] for one in others)
    hits = exact_matches(left, texts, *others)
    by_source: dict[str, bool] = {}
    for (source, _), hit in zip(left, hits, strict=True):
        by_source[source] = by_source.get(source, False) or hit
    references = [[target for _, target in pairs], *map(list, more)]
    found, four_grams = _bleu(translations, references, tokenize, lowercase)
    characters = chrf(translations, *references, lowercase=lowercase)
    return Evaluation(
        pairs=len(pairs),
        distinct_sources=len(by_source),
        bleu=found,
        chrf=characters,
        exact_match=sum(hits) / len(hits),
        distinct_exact_match=sum(by_source.values()) / len(by_source),
        four_grams=four_grams,
        ter=_ter(translations, references) if ter else None,
        remarks=tuple(_remarks(found.value, characters.value, four_grams, references[0], tokenize)),
    )


def _remarks(bleu: float, chrf: float, four_grams: int, references: Iterable[str], tokenize: str) -> Iterable[str]:
    if not four_grams:
        yield SHORT
    elif bleu == 0.0 and chrf > 0.0:
        yield APART
    if tokenize in BY_SPACES and written_without_spaces(references):
        yield NO_SPACES.format(tokenize)


def exact_matches(pairs: Sequence[tuple[str, str]], translations: Sequence[str], *more: Sequence[str]) -> list[bool]:
    """Tell for each translation whether it is any of the targets that are listed for its source."""
    accepted: dict[str, set[str]] = {}
    for texts in ([target for _, target in pairs], *more):
        for (source, _), text in zip(pairs, texts, strict=True):
            accepted.setdefault(source, set()).add(text)
    return [text in accepted[source] for (source, _), text in zip(pairs, translations, strict=True)]


def bleu(translations: Sequence[str], *references: Sequence[str], tokenize: str = "13a", lowercase: bool = False) -> Score:
    """Return the BLEU of translations, with one list of references or several, each with a text for each translation."""
    return _bleu(translations, references, tokenize, lowercase)[0]


def _bleu(
    translations: Sequence[str], references: Sequence[Sequence[str]], tokenize: str, lowercase: bool
) -> tuple[Score, int]:
    from sacrebleu.metrics import BLEU  # here, since nothing else needs it; force: no warnings about tokenized text

    metric = BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    result = metric.corpus_score(list(translations), list(map(list, references)))
    return Score(float(result.score), str(metric.get_signature())), int(result.totals[3])


def chrf(translations: Sequence[str], *references: Sequence[str], lowercase: bool = False) -> Score:
    """Return the chrF of translations, with references as ``bleu`` takes them."""
    from sacrebleu.metrics import CHRF

    metric = CHRF(lowercase=lowercase)
    result = metric.corpus_score(list(translations), list(map(list, references)))
    return Score(float(result.score), str(metric.get_signature()))


def _ter(translations: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    from sacrebleu.metrics import TER

    asian = written_without_spaces(references[0])  # which TER parts into characters only where it normalizes
    metric = TER(normalized=asian, asian_support=asian)
    result = metric.corpus_score(list(translations), list(map(list, references)))
    return Score(float(result.score), str(metric.get_signature()))


def check_tokenization(name: str) -> None:
    """Raise ConfigError for a tokenization that is not known, or whose package is not installed."""
    from sacrebleu.metrics import BLEU

    if name not in TOKENIZATIONS:
        raise ConfigError(f"tokenize must be one of {', '.join(TOKENIZATIONS)}, got {name!r}.")
    try:
        BLEU(tokenize=name)
    except (RuntimeError, ImportError) as error:
        words = " ".join(str(error).split())
        raise ConfigError(f"tokenize {name} must be installed: pip install 'sacrebleu[{name[:2]}]' ({words}).") from None


def lowers(vocabulary: Vocabulary) -> bool:
    """Tell whether a vocabulary writes lower case, whatever text it encoded."""
    return vocabulary.normalized("AB").strip() == "ab"


def written_without_spaces(texts: Iterable[str]) -> bool:
    """Tell whether most letters are of scripts that put no space between words."""
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    found = sum(unicodedata.name(letter, "").split(" ")[0].split("-")[0] in WITHOUT_SPACES for letter in letters)
    return found > len(letters) / 2


def normalized(pairs: Sequence[tuple[str, str]], source: Vocabulary, target: Vocabulary) -> list[tuple[str, str]]:
    """The pairs as the two sides' vocabularies leave them: what a perfect model could read and write."""
    return [(source.normalized(text), target.normalized(other)) for text, other in pairs]
