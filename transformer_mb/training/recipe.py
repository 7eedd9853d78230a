"""TrainingRecipe: everything that training needs besides the model and the data, with its dictionary form."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..data.text import text_pipeline
from ..errors import ConfigError, DataError
from ..fields import check_names
from ..initialization import check_scheme
from ..trainer import TrainerOptions
from .schedules import SCHEDULES

# What may not change when training is resumed: the data, its order, and what the saved state means.
FIXED = (
    *("optimizer", "batch_size", "num_steps", "num_examples", "min_freq", "pipeline", "normalization", "seed"),
    *("initialization", "keep"),
)
LEAST = {
    **dict.fromkeys(("epochs", "batch_size", "num_steps", "num_examples", "min_freq", "early_stopping"), 1),
    "warmup_steps": 0,
}
KEEP = ("best", "last")
UNKNOWN_TO = {"adam": ("momentum",), "sgd": ("betas", "eps")}  # options that do not change what an optimizer does
OF_TRAINER = tuple(field.name for field in dataclasses.fields(TrainerOptions))


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe(TrainerOptions):
    """How to train, beside what every trainer takes (TrainerOptions); ``presets.RECIPES`` holds published ones.

    Args:
        epochs: how many epochs there are in all, those before a resume counted.
        num_steps: the width of every batch, longer sentences being cut as in D2L; None puts sentences of similar
            length together and cuts none.
        num_examples: how many of the file's first lines; None means all.
        min_freq: rarer tokens are not in the vocabulary. pipeline: how text becomes tokens (``TEXT_PIPELINES``).
        schedule: the learning rate's factor at each step (``SCHEDULES``); warmup_steps belongs to it.
        seed: of initial weights and data order too. initialization: see ``transformer_mb.initialization``.
        early_stopping: training ends after this many epochs in a row whose validation loss was no new lowest one.
        keep: whether the model is to be the ``best`` by validation loss, where there is one, or the ``last``.
    Raises:
        ConfigError: naming the field, what it must be and what it is.
    """

    epochs: int = 10
    batch_size: int = 64
    num_steps: int | None = None
    num_examples: int | None = None
    min_freq: int = 1
    pipeline: str = "d2l"
    clip_norm: float | None = 1.0
    normalization: str = "tokens"
    schedule: str = "constant"
    warmup_steps: int = 0
    initialization: str = "xavier"
    early_stopping: int | None = None
    keep: str = "best"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name} must be at least {least}, got {value}.")
        if self.schedule not in SCHEDULES:
            raise ConfigError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}.")
        if self.schedule in ("vaswani", "inverse_square_root") and not self.warmup_steps:
            raise ConfigError(f"schedule {self.schedule} needs warmup_steps of at least 1, got 0.")
        if self.keep not in KEEP:
            raise ConfigError(f"keep must be one of {', '.join(KEEP)}, got {self.keep!r}.")
        check_scheme(self.initialization)
        try:
            text_pipeline(self.pipeline)
        except DataError as error:
            raise ConfigError(str(error)) from None

    def trainer_options(self) -> dict[str, Any]:
        """The arguments of ``Backend.trainer``."""
        return {name: getattr(self, name) for name in OF_TRAINER}

    def without_effect(self) -> list[str]:
        """Options other than their defaults that the optimizer does not know."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [name for name in UNKNOWN_TO[self.optimizer] if getattr(self, name) != defaults[name]]

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
