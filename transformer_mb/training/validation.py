"""What is measured after an epoch, and the weights that are kept for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..backend import Backend
from ..checkpoint import Checkpoint
from ..checkpoint.files import LAST
from ..config import TransformerConfig
from ..errors import CheckpointError, ConfigError, NotFiniteError
from ..parameters import not_finite
from ..trainer import Batch
from .batches import EpochBatches
from .recipe import TrainingRecipe
from .state import TrainingState

Weights = Mapping[str, np.ndarray]
REMEDY = "A lower learning_rate, or clip_norm, may help."


def mean_loss(backend: Backend, model: Any, batches: EpochBatches) -> float:
    """Cross-entropy per target token in nats: without dropout, label smoothing and gradients."""
    total, tokens = 0.0, 0
    for batch in batches.epoch(0):
        total += float(backend.losses(model, *batch).sum())
        tokens += batch.num_tokens
    return total / tokens


def check_validation(config: TransformerConfig, recipe: TrainingRecipe, measured: bool, resume: Checkpoint | None) -> None:
    """Refuse what could not be measured after the first epoch; raises ConfigError."""
    if not measured and recipe.early_stopping is not None:
        raise ConfigError("early_stopping needs pairs whose loss is measured (validation), got none.")
    if not measured and resume is not None and resume.last is not None:
        raise ConfigError("A training that keeps its best epoch is resumed with validation, as it began, got none.")
    if measured and config.compat_decode != "correct":
        raise ConfigError(
            "The loss of a validation needs compat_decode = correct, since in evaluation the book's decoder sees the tokens "
            f"it is to predict, got {config.compat_decode}."
        )


class KeptWeights:
    """The weights that the checkpoint's model is to have: the current ones, or those of the epoch with the lowest loss."""

    def __init__(self, keep: str, state: TrainingState, resume: Checkpoint | None):
        self._keeps_best = keep == "best"
        self._best: Weights | None = None
        self._step = -1  # after which step the best weights were the current ones
        if resume is not None and resume.last is not None:
            self._best = resume.weights
        elif resume is not None and state.best is not None and self._keeps_best:
            if (state.best.epoch, 0) != (state.epoch, state.batch):
                raise CheckpointError(f"{LAST} is missing: the other weights are those of epoch {state.best.epoch}, the best.")
            self._best, self._step = resume.weights, state.step

    def measured(self, state: TrainingState, weights: Weights) -> None:
        """After a validation: ``weights`` are the current ones."""
        if self._keeps_best and state.best is state.history[-1]:
            self._best, self._step = {name: np.array(value) for name, value in weights.items()}, state.step

    def better_than_current(self, state: TrainingState) -> Weights | None:
        """Those of the best epoch, where training has gone on from them."""
        return self._best if self._keeps_best and self._step != state.step else None


def check_finite(backend: Backend, model: Any, weights: Weights, batch: Batch, state: TrainingState) -> None:
    """Refuse a model that is no longer one: weights that are NaN or infinite, or so large that its loss is.

    The loss of a step is that before its update: what the last update did shows here alone. Raises NotFiniteError.
    """
    wrong = not_finite(weights)
    if not wrong and not math.isfinite(float(backend.losses(model, *batch).sum())):
        wrong = "its loss is NaN or infinite"
    if wrong:
        raise NotFiniteError(f"The model is no longer finite after step {state.step}: {wrong}. It is not saved. {REMEDY}")
