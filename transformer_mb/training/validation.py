"""Validation: its measures, and the weights that are kept for it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..backend import Backend
from ..batch import Batch, EpochBatches
from ..checkpoint import Checkpoint
from ..checkpoint.files import LAST, kept_name
from ..config import TransformerConfig
from ..data.vocabulary import Vocabulary
from ..distributed import Alone, Processes
from ..errors import CheckpointError, ConfigError, NotFiniteError
from ..inference.evaluation import bleu, check_tokenization, chrf, lowers
from ..inference.translation import Translator
from ..parameters import not_finite
from .agreement import REMEDY, check_loss
from .recipe import TrainingRecipe
from .records import ValidationRecord
from .state import TrainingState

Weights = Mapping[str, np.ndarray]


def mean_loss(backend: Backend, model: Any, batches: EpochBatches, processes: Processes | None = None) -> float:
    """Cross-entropy per target token in nats: without dropout, label smoothing and gradients. Processes share the batches."""
    processes = processes or Alone()
    total, tokens = 0.0, 0
    for batch in islice(batches.epoch(0), processes.rank, None, processes.size):
        total += float(backend.losses(model, batch).sum())
        tokens += batch.num_tokens
    total, tokens = processes.sum(np.array([total, tokens])).tolist()
    return total / tokens


def validate(
    backend: Backend,
    model: Any,
    batches: EpochBatches,
    translated: Translated | None,
    state: TrainingState,
    processes: Processes,
    recipe: TrainingRecipe,
) -> ValidationRecord:
    """Measure the model of the state, by as many translations as the recipe says. Raises NotFiniteError."""
    loss, scores = mean_loss(backend, model, batches, processes), {}
    check_loss(loss, state)
    if translated is not None:
        some = translated._replace(pairs=translated.pairs[: recipe.validation_lines])
        scores = greedy_scores(backend, model, some, processes, recipe.validation_tokenize)
    return ValidationRecord(state.step, state.epoch + 1, loss, **scores)


class Translated(NamedTuple):
    """Pairs whose sources are translated at each validation, and the vocabularies to do so."""

    pairs: Sequence[tuple[str, str]]
    vocabularies: tuple[Vocabulary, Vocabulary]


def greedy_scores(
    backend: Backend, model: Any, translated: Translated, processes: Processes, tokenize: str = "13a"
) -> dict[str, float]:
    """``bleu`` and ``chrf``, the same for every process; each of them translates its share of the lines.

    As ``evaluate`` has them: of the targets as they stand, in lower case where the vocabulary is. tokenize: of BLEU.
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


def check_validation(config: TransformerConfig, recipe: TrainingRecipe, measured: bool, resume: Checkpoint | None) -> None:
    """Refuse what could not be measured after the first epoch; raises ConfigError."""
    if not measured and (wanted := recipe.of_validation()):
        raise ConfigError(f"{wanted[0]} needs pairs that are measured (validation), got none.")
    if measured:
        check_tokenization(recipe.validation_tokenize)
    if not measured and resume is not None and resume.last is not None:
        raise ConfigError("A training that keeps its best epoch is resumed with validation, as it began, got none.")
    if measured and config.compat_decode != "correct":
        raise ConfigError(
            "The loss of a validation needs compat_decode = correct, since in evaluation the book's decoder sees the tokens "
            f"it is to predict, got {config.compat_decode}."
        )


class KeptWeights:
    """The weights of earlier validations that the checkpoint is to have: for its model, and beside it for ``average``."""

    def __init__(self, recipe: TrainingRecipe, state: TrainingState, resume: Checkpoint | None):
        self._keep, self._count = recipe.keep, recipe.keep_best
        self._by_step: dict[int, Weights] = {}
        wanted = self._wanted(state)
        if resume is None or not wanted:
            return
        if self._count > 1:
            if missing := sorted(set(wanted) - set(resume.kept)):
                raise CheckpointError(f"{kept_name(missing[0])} is missing: the weights of one of the kept validations.")
            self._by_step = {step: resume.kept[step] for step in wanted}
        elif resume.last is None and wanted != [state.step]:
            raise CheckpointError(f"{LAST} is missing: the other weights are those of step {wanted[0]}, the best.")
        else:
            self._by_step = {wanted[0]: resume.weights}

    def _wanted(self, state: TrainingState) -> list[int]:
        """Return after which steps the weights are kept, the best or latest first."""
        if self._keep == "best":
            return [record.step for record in state.ranked[: self._count]]
        return [record.step for record in state.validations[::-1][: self._count]] if self._count > 1 else []

    def measured(self, state: TrainingState, weights: Weights) -> None:
        """Take the current ``weights`` after a validation."""
        wanted = self._wanted(state)
        if state.step in wanted:
            self._by_step[state.step] = {name: np.array(value) for name, value in weights.items()}
        self._by_step = {step: self._by_step[step] for step in wanted}

    def better_than_current(self, state: TrainingState) -> Weights | None:
        """Return the weights of the best validation, where training has gone on from them."""
        best = state.best if self._keep == "best" else None
        return None if best is None or best.step == state.step else self._by_step[best.step]

    def beside(self) -> dict[int, Weights]:
        """Return the weights that are saved beside the model, by step."""
        return dict(self._by_step) if self._count > 1 else {}


def check_finite(backend: Backend, model: Any, weights: Weights, batch: Batch, state: TrainingState) -> None:
    """Refuse a model that is no longer one: weights that are NaN or infinite, or so large that its loss is.

    The loss of a step is that before its update: what the last update did shows here alone. Raises NotFiniteError.
    """
    wrong = not_finite(weights)
    if not wrong and not math.isfinite(float(backend.losses(model, batch).sum())):
        wrong = "its loss is NaN or infinite"
    if wrong:
        raise NotFiniteError(f"The model is no longer finite after step {state.step}: {wrong}. It is not saved. {REMEDY}")
