"""A training that begins from the model of another one: its weights, configuration and vocabularies, and a new optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from ..checkpoint import Checkpoint, read_checkpoint
from ..config import TransformerConfig
from ..errors import CheckpointError, ConfigError
from ..training_options import TRAINING
from .begun import damaged_in, listed, recipe_of
from .corpus_source import Vocabularies, check_together
from .recipe import TrainingRecipe
from .settings import Settings

# Fields that no weight depends on: they may be others than those that the model was trained with.
FREE = ("dropout", "attention_dropout", "embedding_dropout", "ffn_dropout", "suppress_ids", "compat_decode")

Model = tuple[TransformerConfig, Vocabularies]


def initial_model(requested: Settings, resume: bool | Literal["auto"], is_begun: bool) -> Checkpoint | None:
    """The checkpoint that ``init_from`` names; None without it, and where a training goes on. Raises ConfigError,
    CheckpointError."""
    folder = requested.run.get("init_from")
    if folder is None:
        return None
    if resume is True:
        raise ConfigError(
            "init_from (--init-from) begins a new training, but resume continues one: one of them must be left out."
        )
    if is_begun:
        return None
    initial = read_checkpoint(Path(folder))
    if initial.trainer is not None:
        with damaged_in(folder):
            recipe_of(initial)
    return initial


def ignored_initial(requested: Settings, begun: Any) -> Iterator[str]:
    """Warn where a training goes on that began from another model than ``init_from`` names now, or from none."""
    folder = requested.run.get("init_from")
    began = begun if isinstance(begun, str) else None
    if folder is not None and (began is None or Path(folder).resolve() != Path(began).resolve()):
        model = "new weights" if began is None else f"the model of {began}"
        yield f"init_from {folder} has no effect: this training goes on, and it began from {model}; --out names another folder"


def config_of(initial: Checkpoint, requested: Settings, vocabularies: Vocabularies | None) -> Model:
    """The model and the vocabularies to begin with. Raises CheckpointError, ConfigError where others are requested for."""
    config, source, target = initial.config, initial.source_vocabulary, initial.target_vocabulary
    if source is None or target is None:
        raise CheckpointError("init_from must name a checkpoint with its vocabularies, but this one holds none.")
    if config.architecture != "encoder_decoder":
        raise ConfigError(f"init_from must name an encoder_decoder, which pairs train, got architecture {config.architecture}.")
    if vocabularies not in (None, (source, target)):
        raise ConfigError("A training that begins from a model must have its vocabularies, got another tokenizer.")
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in requested.model.items()}
    unknown = [name for name in given if not hasattr(config, name)]
    if unknown:
        requested.config(source_vocab_size=len(source), target_vocab_size=len(target))  # says what is wrong with them
    if others := [f"{name} is {getattr(config, name)!r}, not {value!r}" for name, value in given.items()
                  if name not in FREE and getattr(config, name) != value]:  # fmt: skip
        raise ConfigError(f"A training that begins from a model must take it as it is, but {'; '.join(others)}.")
    return config.replace(**{name: value for name, value in given.items() if name in FREE}), (source, target)


def new_model(settings: Settings, vocabularies: Vocabularies) -> Model:
    """The model that the settings describe, for these vocabularies. Raises ConfigError where they do not go together."""
    source, target = vocabularies
    check_together(source, target, settings.shares_embeddings())
    ids: dict[str, Any] = {"pad_id": target.pad_id, "bos_id": target.bos_id, "eos_id": target.eos_id}
    if "suppress_ids" not in settings.model:
        # A translation is made of words: the model is not to answer with <unk>, <pad> or <bos>.
        ids["suppress_ids"] = tuple(sorted({target.unk_id, target.pad_id, target.bos_id} - {target.eos_id}))
    return settings.config(source_vocab_size=len(source), target_vocab_size=len(target), **ids), (source, target)


def initial_notes(initial: Checkpoint, recipe: TrainingRecipe, described: Mapping[str, Any]) -> Iterator[str]:
    """Describe the differences from the training that made the model."""
    folder, trainer = described["init_from"], initial.trainer
    if described.get("preset"):
        yield f"of preset {described['preset']} the recipe is taken, and the model is that of {folder}"
    if trainer is None:
        return
    before = recipe_of(initial)
    changed = {name: getattr(before, name) for name in TRAINING if getattr(before, name) != getattr(recipe, name)}
    if changed:
        words = [f"{name} {was}" if was is not None else f"no {name}" for name, was in changed.items()]
        yield f"{folder} was trained with {listed(words)}"
    if ((trainer.get("data") or {}).get("digest")) == described.get("digest"):
        yield f"{folder} was trained on the same pairs: --resume would go on with its optimizer too"
