"""BLEU and chrF of a model in training: greedy translations, which several processes make between them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..backend import Backend
from ..data.vocabulary import Vocabulary
from ..distributed import Processes
from ..inference.evaluation import bleu, chrf, lowers
from ..inference.translation import Translator


class Translated(NamedTuple):
    """Pairs whose sources are translated at each validation, and the vocabularies to do so."""

    pairs: Sequence[tuple[str, str]]
    vocabularies: tuple[Vocabulary, Vocabulary]


def greedy_scores(
    backend: Backend, model: Any, translated: Translated, processes: Processes, tokenize: str = "13a"
) -> dict[str, float]:
    """``bleu`` and ``chrf``, the same for every process; each of them translates its share of the lines.

    As ``evaluate`` has them: of the targets as they are given, in lower case where the vocabulary is. tokenize: of BLEU.
    """
    translator = Translator(backend, model, *translated.vocabularies, too_long="cut")
    sources = [source for source, _ in translated.pairs]
    own = translator.translate(sources[processes.rank :: processes.size])
    translations = [""] * len(sources)
    for rank, texts in enumerate(processes.gather_text(json.dumps(own))):
        translations[rank :: processes.size] = json.loads(texts)
    references = [target for _, target in translated.pairs]
    lowercase = lowers(translated.vocabularies[1])
    measured = {
        "bleu": bleu(translations, references, tokenize=tokenize, lowercase=lowercase),
        "chrf": chrf(translations, references, lowercase=lowercase),
    }
    return {name: score.value for name, score in measured.items()}
