"""BLEU and chrF of a model in training: greedy translations, which several processes make between them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..backend import Backend
from ..data.vocabulary import Vocabulary
from ..distributed import Processes
from ..inference.evaluation import bleu, chrf, normalized
from ..inference.translation import Translator


class Translated(NamedTuple):
    """Pairs whose sources are translated at each validation, and the vocabularies to do so."""

    pairs: Sequence[tuple[str, str]]
    vocabularies: tuple[Vocabulary, Vocabulary]


def greedy_scores(backend: Backend, model: Any, translated: Translated, processes: Processes) -> dict[str, float]:
    """``bleu`` and ``chrf``, the same for every process; each of them translates its share of the lines."""
    translator = Translator(backend, model, *translated.vocabularies, too_long="cut")
    sources = [source for source, _ in translated.pairs]
    own = translator.translate(sources[processes.rank :: processes.size])
    translations = [""] * len(sources)
    for rank, texts in enumerate(processes.gather_text(json.dumps(own))):
        translations[rank :: processes.size] = json.loads(texts)
    references = [target for _, target in normalized(translated.pairs, *translated.vocabularies)]
    return {"bleu": bleu(translations, references).value, "chrf": chrf(translations, references).value}
