"""TrainingRecipe: everything that training needs besides the model and the data, with its dictionary form."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..data.text import text_pipeline
from ..errors import ConfigError, DataError
from ..fields import check_names
from ..inference.evaluation import TOKENIZATIONS
from ..initialization import check_scheme
from ..printable import counted
from ..trainer import TrainerOptions
from ..training_options import EITHER, FIXED, TRAINING
from .records import METRICS
from .schedules import SCHEDULES, WITH_END

KEEP = ("best", "last")
# Options that do not change what an optimizer does.
UNKNOWN_TO = {"adam": ("momentum",), "adamw": ("momentum",), "sgd": ("betas", "eps")}
OF_WORDS = ("pipeline", "min_freq")
OF_TRAINER = tuple(field.name for field in dataclasses.fields(TrainerOptions))


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe(TrainerOptions):
    """A recipe to train by, beside what every trainer takes (TrainerOptions); ``presets.RECIPES`` holds published ones.

    Args:
        epochs: how many epochs there are in all, those before a resume counted. max_steps: how many steps instead, amid an
            epoch too; epochs must be None then.
        batch_size: sentence pairs in a batch. batch_tokens: padded positions of a batch, rows x width of the longer side at
            most, as if both sides were padded to that of a bucket; batch_size must be None then.
        accumulate: how many batches make one step, in memory one after the other; the last step of an epoch takes those left.
            It is the step on one batch of all their rows (``Trainer.accumulated_step``).
        num_steps: the width of every batch, longer sentences being cut as in D2L; None puts sentences of similar
            length together and cuts none.
        num_examples: how many of the file's first lines; None means all.
        min_freq: rarer tokens are not in the vocabulary. pipeline: how text becomes tokens (``TEXT_PIPELINES``).
        schedule: the learning rate's factor at each step (``SCHEDULES``); warmup_steps belongs to it. schedule_steps: where
            linear and cosine come to zero; None: at the end of all steps, so that a longer training has another rate at each.
            ``plateau`` multiplies the rate by plateau_factor after plateau_patience validations that were no new best.
        seed: of initial weights and data order too. initialization: see ``transformer_mb.initialization``.
        validate_every_steps: steps from one validation to the next; None validates after every epoch.
        validation_metric: what tells the better of two validations: the ``loss``, or ``bleu`` or ``chrf`` (sacreBLEU) of
            greedy translations.
        validation_lines: how many of the first pairs each validation translates; None: all where the metric needs it,
            else none. validation_tokenize: how BLEU parts texts into words (``inference.evaluation.TOKENIZATIONS``).
        early_stopping: training ends after this many validations in a row that were no new best one.
        keep: whether the model is to be the ``best`` by validation, where there is one, or the ``last``.
        keep_best: with more than 1 the weights of this many validations are saved beside the model, for ``average``: the best
            ones, or the latest where ``keep`` is ``last``.
    Raises:
        ConfigError: naming the field, what it must be and what it is.
    """

    epochs: int | None = 10
    max_steps: int | None = None
    batch_size: int | None = 64
    batch_tokens: int | None = None
    accumulate: int = 1
    num_steps: int | None = None
    num_examples: int | None = None
    min_freq: int = 1
    pipeline: str = "d2l"
    clip_norm: float | None = 1.0
    normalization: str = "tokens"
    schedule: str = "constant"
    warmup_steps: int = 0
    schedule_steps: int | None = None
    plateau_factor: float = 0.5
    plateau_patience: int = 3
    initialization: str = "xavier"
    validate_every_steps: int | None = None
    validation_metric: str = "loss"
    validation_lines: int | None = None
    validation_tokenize: str = "13a"
    early_stopping: int | None = None
    keep: str = "best"
    keep_best: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, row in TRAINING.items():
            value = getattr(self, name)
            if row.least is not None and value is not None and value < row.least:
                raise ConfigError(f"{name} must be at least {row.least}, got {value}.")
        for (one, other), what in EITHER.items():
            first, second = getattr(self, one), getattr(self, other)
            if (first is None) == (second is None):
                got = "neither" if first is None else f"{first} and {second}"
                raise ConfigError(f"Either {one} or {other} must say {what}, got {got}.")
        if self.schedule not in SCHEDULES:
            raise ConfigError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}.")
        if self.schedule in ("vaswani", "inverse_square_root") and not self.warmup_steps:
            raise ConfigError(f"schedule {self.schedule} needs warmup_steps of at least 1, got 0.")
        if not 0.0 < self.plateau_factor < 1.0:
            raise ConfigError(f"plateau_factor must be above 0 and below 1, got {self.plateau_factor}.")
        for name, choices in (("keep", KEEP), ("validation_metric", METRICS), ("validation_tokenize", TOKENIZATIONS)):
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}.")
        check_scheme(self.initialization)
        try:
            text_pipeline(self.pipeline)
        except DataError as error:
            raise ConfigError(str(error)) from None

    @property
    def translates(self) -> bool:
        """Tell whether a validation makes translations."""
        return self.validation_metric != "loss" or self.validation_lines is not None

    def of_validation(self) -> list[str]:
        """The options that change nothing without pairs to measure, where they are not their defaults."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        names = [name for name in defaults if name.startswith(("validat", "early_stopping", "keep_best"))]
        plateau = ["schedule plateau"] if self.schedule == "plateau" else []
        return [name for name in names if getattr(self, name) != defaults[name]] + plateau

    def trainer_options(self) -> dict[str, Any]:
        """The arguments of ``Backend.trainer``."""
        return {name: getattr(self, name) for name in OF_TRAINER}

    def total_steps(self, batches: int) -> int:
        """Return the steps of the whole training, with ``batches`` batches in an epoch."""
        return (self.epochs or 0) * -(-batches // self.accumulate) if self.max_steps is None else self.max_steps

    def is_over(self, epochs: int, steps: int) -> bool:
        """Tell whether these numbers of epochs and steps are all."""
        return epochs >= self.epochs if self.epochs is not None else steps >= (self.max_steps or 0)

    def of_end(self) -> str:
        """``3 epochs``, or ``100 steps``."""
        return counted(self.max_steps or 0, "step") if self.epochs is None else counted(self.epochs, "epoch")

    def without_effect(self, vocabularies: str) -> dict[str, str]:
        """Options other than their defaults, and what knows nothing of them; ``vocabularies``: whose, if not of the pairs."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        unknown = dict.fromkeys(UNKNOWN_TO[self.optimizer], self.optimizer)
        unknown |= dict.fromkeys(OF_WORDS, vocabularies) if vocabularies else {}
        others = {"schedule_steps": WITH_END, "plateau_factor": ("plateau",), "plateau_patience": ("plateau",)}
        unknown |= {name: f"schedule {self.schedule}" for name, known in others.items() if self.schedule not in known}
        return {name: what for name, what in unknown.items() if getattr(self, name) != defaults[name]}

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "betas": list(self.betas)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TrainingRecipe:
        check_names("training field(s)", fields, (field.name for field in dataclasses.fields(cls)))
        return cls(**fields)

    def check_continues(self, before: TrainingRecipe) -> None:
        """Refuse to resume what was begun with another recipe, where this would not be the same training."""
        check_unchanged("recipe", before, {name: getattr(self, name) for name in FIXED})


def check_unchanged(what: str, before: Any, asked: Mapping[str, Any]) -> None:
    """Refuse to resume with other values than the attributes that ``before`` has; raises ConfigError with all of them."""
    pairs = [(name, getattr(before, name, None), value) for name, value in asked.items()]
    changed = [f"{name} was {was!r} and is {value!r}" for name, was, value in pairs if was != value]
    if changed:
        raise ConfigError(f"Training is resumed with the {what} it began with, but {'; '.join(changed)}.")
