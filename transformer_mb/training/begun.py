"""A training that is to be continued: what its checkpoint says, and what may not differ from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checkpoint import Checkpoint, read_checkpoint
from ..checkpoint.files import TRAINER
from ..checkpoint.ties import check_unaltered
from ..config import TransformerConfig
from ..distributed import Place
from ..errors import CheckpointError, ConfigError, DataError
from ..printable import counted
from ..training_options import FILES, RUN, RUN_DEFAULTS, TRAINING
from .corpus_source import Vocabularies
from .destination import check_folder, check_untrained, contents
from .named_places import check_named_places
from .recipe import TrainingRecipe, check_unchanged
from .settings import WHOLE_NUMBERS, Settings, from_checkpoint
from .state import TrainingState

WHERE = ("backend", "device", "dtype")
GROW = ("epochs", "max_steps")


@dataclass(frozen=True)
class Saved:
    """The content of the folder of a training that is to go on: nothing, where one begins."""

    folder: Path | None
    found: str = ""
    checkpoint: Checkpoint | None = None
    trainer: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)

    @property
    def state(self) -> TrainingState:
        return TrainingState() if self.checkpoint is None else state_of(self.checkpoint)

    def check_files(self, requested: Mapping[str, Any], *, pairs: bool, validation: bool) -> None:
        """A training that goes on finds the files that it began with, unless pairs were handed over, or is told where they
        are now. Raises DataError."""
        named = {*requested, *(FILES[:2] if pairs else ()), *(FILES[2:] if validation else ())}
        for name in FILES:
            path = self.settings.data.get(name)
            if path and name not in named and not Path(path).exists():
                option = "data" if name == "source" else name
                raise DataError(
                    f"There is no file {path}, which this training began with: {option} (--{option.replace('_', '-')}) names "
                    "it where it is now."
                )


def saved_in(requested: Settings, goes_on: bool, force: bool, place: Place) -> Saved:
    """Look at the folder: it is free for a new training, or holds the one that goes on, with a preset as requested."""
    folder = check_folder(requested.run.get("out"), goes_on, force)
    if folder is not None and not place.rank:
        check_untrained(folder)
    found = "" if folder is None else contents(folder)
    if not goes_on:
        return Saved(folder, found)
    checkpoint = training_of(folder)
    trainer = checkpoint.trainer or {}
    settings = from_checkpoint(trainer)
    check_named_places(settings)
    if requested.preset not in (None, settings.preset):
        raise ConfigError(f"Training must be resumed with the preset it began with, {settings.preset}, got {requested.preset}.")
    return Saved(folder, found, checkpoint, trainer, settings)


def training_of(folder: Path | None) -> Checkpoint:
    """The checkpoint in a folder, its trainer.json checked; raises CheckpointError."""
    if folder is None:
        raise ConfigError("folder must be that of the checkpoint which resume continues, got None.")
    checkpoint = read_checkpoint(folder)
    if checkpoint.trainer is None:
        raise CheckpointError(f"{folder} holds a model alone, which cannot be resumed: its training state is not there.")
    with damaged_in(folder):
        state_of(checkpoint)
        recipe_of(checkpoint)
        for name in ("recipe", "data"):
            if not isinstance(checkpoint.trainer.get(name), dict):
                raise CheckpointError(f"{TRAINER} must hold a table as {name}, got {checkpoint.trainer.get(name)!r:.80}.")
        _check_run(begun_run(checkpoint))
        check_unaltered(checkpoint)
    return checkpoint


@contextmanager
def damaged_in(folder: Any) -> Iterator[None]:
    """Inside, what is wrong with a training's state is said of the checkpoint in the folder."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"The checkpoint in {folder} is damaged: {error}") from None


def state_of(checkpoint: Checkpoint) -> TrainingState:
    """Return the state of a checkpoint's training; raises CheckpointError."""
    if checkpoint.trainer is None or checkpoint.optimizer is None:
        raise CheckpointError("Only a training checkpoint can be resumed, but this one holds a model alone.")
    state, step = TrainingState.from_dict(checkpoint.trainer), int(checkpoint.optimizer["step"])
    if state.step != step:
        raise CheckpointError(f"trainer.json and optimizer.safetensors must be of one step, got {state.step} and {step}.")
    return state


def recipe_of(checkpoint: Checkpoint) -> TrainingRecipe:
    """The recipe that a training was begun with; raises CheckpointError."""
    recipe = (checkpoint.trainer or {}).get("recipe", {})
    if not isinstance(recipe, dict):
        raise CheckpointError(f"{TRAINER} must hold a table as recipe, got {recipe!r:.80}.")
    try:
        return TrainingRecipe.from_dict(recipe)
    except ConfigError as error:
        raise CheckpointError(f"{TRAINER} holds no valid recipe: {error}") from None


def _check_run(run: Any) -> None:
    if not isinstance(run, dict):
        raise CheckpointError(f"{TRAINER} must hold a table as run, got {run!r:.80}.")
    for name, value in run.items():
        kind, word = (int, "a whole number") if name in WHOLE_NUMBERS else (str, "text")
        if name in RUN and value is not None and not isinstance(value, kind):
            raise CheckpointError(f"{TRAINER} must hold {word} as {name}, got {value!r:.80}.")


def begun_run(checkpoint: Checkpoint) -> dict[str, Any]:
    """Backend, device, dtype and what else a training was last saved with, see ``job.KEPT``."""
    return ((checkpoint.trainer or {}).get("data") or {}).get("run") or {}


def begun_otherwise(checkpoint: Checkpoint, recipe: TrainingRecipe, run: Mapping[str, Any]) -> list[str]:
    """Return the settings that a training began with and has changed, each with its value then; not its length, which grows."""
    begun = begun_run(checkpoint)
    names = [name for name in RUN if name in begun or (begun and name in run and name not in WHERE)]
    values = [(name, begun.get(name, RUN_DEFAULTS.get(name)), run.get(name, RUN_DEFAULTS.get(name))) for name in names]
    before = recipe_of(checkpoint)
    values += [(name, getattr(before, name), getattr(recipe, name)) for name in TRAINING if name not in GROW]
    absent = {"device": "the default device"}
    return [f"{name} {was}" if was is not None else absent.get(name, f"no {name}") for name, was, now in values if was != now]


def listed(words: list[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def begun_model(
    requested: Settings, checkpoint: Checkpoint, vocabularies: Vocabularies | None = None
) -> tuple[TransformerConfig, Vocabularies]:
    """The model of the checkpoint; a model or vocabularies other than those that training began with are refused."""
    source, target = checkpoint.source_vocabulary, checkpoint.target_vocabulary
    if source is None or target is None:
        raise CheckpointError("A training on text is resumed with its vocabularies, but the checkpoint holds none.")
    if vocabularies not in (None, (source, target)):
        raise ConfigError("A training must be resumed with the vocabularies that its checkpoint holds, got others.")
    check_unchanged("model", checkpoint.config, {name: _listed(value) for name, value in requested.model.items()})
    return checkpoint.config, (source, target)


def check_pairs(checkpoint: Checkpoint, described: Mapping[str, Any]) -> None:
    """Refuse data other than those that training began with."""
    began = (checkpoint.trainer or {}).get("data") or {}
    for what, name in (("", "source"), ("validation_", "validation")):
        digest = began.get(f"{what}digest")
        if digest is not None and digest != described.get(f"{what}digest"):
            kind = what.replace("_", " ") or "sentence "
            now = _other_pairs(described.get(name), began.get(f"{what}pairs"), described.get(f"{what}pairs"))
            raise DataError(f"A training must be resumed with the {kind}pairs it began with, got {now}.")


def _other_pairs(file: str | None, before: int | None, now: int | None) -> str:
    """The checkpoint holds their number and a digest of all of them, which tells no more."""
    if now is None:
        return "none"
    differ = (
        f"{counted(now, 'pair')}, not {before}"
        if now != before
        else f"{now} as before, but of other content or in another order"
    )
    return f"others{f' from {file}' if file else ''}: {differ}"


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
