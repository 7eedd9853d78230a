"""One training from settings to a saved checkpoint: what ``train`` and the ``train`` command run."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..backend import Backend
from ..checkpoint import Checkpoint
from ..checkpoint.files import holds_checkpoint
from ..config import TransformerConfig
from ..data import Batches, Pairs, build_vocabularies, pair_ids, read_pairs
from ..data.padding import check_limits
from ..errors import ConfigError
from ..option_words import RUN_DEFAULTS
from ..parameters import parameter_shapes
from ..registry import get_backend, requested_name
from .begun import Vocabularies, begun_model, begun_run, recipe_of, training_of
from .corpus import CorpusCounts, count_corpus
from .destination import check_folder
from .recipe import TrainingRecipe
from .settings import Settings, from_checkpoint
from .state import TrainingState
from .validation import check_validation


@dataclass(frozen=True, kw_only=True)
class Given:
    """What Python hands over as objects, and a command by name."""

    pairs: Pairs | None = None
    validation: Pairs | None = None
    backend: Backend | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything ready to train. ``state``: where training stands; ``described``: what trainer.json is to say."""

    backend: Backend
    config: TransformerConfig
    recipe: TrainingRecipe
    vocabularies: Vocabularies
    batches: Batches
    corpus: CorpusCounts
    state: TrainingState
    described: Mapping[str, Any]
    folder: Path | None = None
    save_every: int = RUN_DEFAULTS["save_every"]
    save_every_steps: int | None = None
    resume: Checkpoint | None = None
    validation: Pairs | None = None
    validation_batches: Batches | None = None

    @property
    def place(self) -> str:
        return f"{self.backend.name}, {self.backend.device_name}, {self.backend.dtype}"

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.state.is_finished(self.recipe.epochs, self.recipe.early_stopping)

    def notes(self) -> list[str]:
        """What was asked for in vain, in words."""
        return [f"note: {name} has no effect with {self.recipe.optimizer}" for name in self.recipe.without_effect()]

    def opening(self) -> str:
        """What is about to happen, in words."""
        state, epochs = self.state, self.recipe.epochs
        if self.resume is None:
            return f"training {epochs:,} epoch{'s' if epochs > 1 else ''} with {self.place}"
        if state.epoch >= epochs:
            return f"already at epoch {state.epoch}: give --epochs N to go on"
        if self.is_finished:
            return f"stopped early at epoch {state.epoch}: give a larger --early-stopping N, or 0, to go on"
        begun = begun_run(self.resume)
        now = self.described["run"]
        changed = [f"{name} {begun[name]}" for name in ("backend", "dtype") if begun.get(name, now[name]) != now[name]]
        batch = f", batch {state.batch + 1} of {len(self.batches)}," if state.batch else ""
        how = f"which began with {' and '.join(changed)}" if changed else "as it began"
        return f"continuing epoch {state.epoch + 1} of {epochs}{batch} with {self.place}, {how}"


def prepare(
    settings: Settings, given: Given | None = None, *, resume: bool | Literal["auto"] = False, force: bool = False
) -> Job:
    """Find everything that can be wrong before training begins."""
    if resume not in (True, False, "auto"):
        raise ConfigError(f'resume must be True, False or "auto", got {resume!r}.')
    by_command = given is None
    given = given or Given()
    out = settings.run.get("out")
    if resume == "auto":
        resume = bool(out) and holds_checkpoint(Path(str(out)))
    folder = check_folder(out, resume, force)
    checkpoint = training_of(folder) if resume else None
    state = TrainingState() if checkpoint is None else TrainingState.from_dict(checkpoint.trainer or {})
    before = Settings() if checkpoint is None else from_checkpoint(checkpoint.trainer or {})
    if checkpoint is not None and settings.preset not in (None, before.preset):
        raise ConfigError(
            f"Training is resumed with the preset it began with, but it was {before.preset} and is {settings.preset}."
        )
    run = _where(settings.run, before.run, given.backend)
    backend = given.backend or get_backend(run["backend"], run["device"], run["dtype"])
    asked, settings = settings, settings.over(before)
    recipe = settings.recipe()
    if checkpoint is not None:
        recipe.check_continues(recipe_of(checkpoint))
    if given.pairs is None and not settings.data.get("source"):
        raise ConfigError(_missing_pairs(resume, by_command))
    run = {**run, "dtype": backend.dtype}
    pairs = given.pairs or _read(settings.data, recipe.num_examples, "source", "target")
    validation = given.validation
    if validation is None and settings.data.get("validation"):
        validation = _read(settings.data, None, "validation", "validation_target")
    described = {**settings.data, "preset": settings.preset, "run": run, **_digests("", pairs)}
    described |= _digests("validation_", validation) if validation else {}
    if checkpoint is None:
        config, both = _new_model(settings, recipe, pairs)
    else:
        config, both = begun_model(asked, checkpoint, described)
    saves: dict[str, Any] = {
        name: settings.run.get(name, RUN_DEFAULTS.get(name)) for name in ("save_every", "save_every_steps")
    }
    check_limits(**saves)
    check_validation(config, recipe, validation is not None, checkpoint)
    ids = pair_ids(pairs, *both)
    parameters = sum(math.prod(shape) for shape in parameter_shapes(config).values())
    return Job(
        backend=backend,
        config=config,
        recipe=recipe,
        vocabularies=both,
        batches=_batches(ids, recipe, config),
        corpus=count_corpus(ids, both, recipe.num_steps, skipped=pairs.skipped, parameters=parameters),
        state=state,
        described=described,
        folder=folder,
        **saves,
        resume=checkpoint,
        validation=validation,
        validation_batches=_batches(pair_ids(validation, *both), recipe, config, measured=True) if validation else None,
    )


def _batches(
    ids: Sequence[tuple[Any, Any]], recipe: TrainingRecipe, config: TransformerConfig, measured: bool = False
) -> Batches:
    """``measured``: in one order, and longer sentences than the model takes are cut."""
    return Batches(
        ids,
        recipe.batch_size,
        recipe.seed,
        num_steps=recipe.num_steps,
        max_len=config.max_len,
        truncate=measured,
        start_id=config.start_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        shuffle=not measured,
    )


def _where(asked: Mapping[str, Any], before: Mapping[str, Any], backend: Backend | None) -> dict[str, Any]:
    """Backend, device and dtype: as asked, then as training began, then as the environment says."""
    if backend is not None:
        return {"backend": backend.name, "device": backend.device_name, "dtype": backend.dtype}
    name = requested_name(asked.get("backend") or before.get("backend"))
    before = before if name == before.get("backend") else {}
    device = asked.get("device") or before.get("device")
    return {"backend": name, "device": device, "dtype": asked.get("dtype") or before.get("dtype") or RUN_DEFAULTS["dtype"]}


def _read(data: Mapping[str, Any], num_examples: int | None, source: str, target: str) -> Pairs:
    return read_pairs(data[source], data.get(target), num_examples=num_examples, fields=data.get("fields"))


def _missing_pairs(resume: bool, by_command: bool) -> str:
    option = " (--data FILE, or source in [data])" if by_command else ""
    if resume:
        return f"data must be the same pairs again{option}, since the training began with pairs and no file, got none."
    return f"data must be a file of sentence pairs{option if by_command else ', or the pairs'}, got none."


def _digests(what: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    text = "\n".join(f"{source}\t{target}" for source, target in pairs)
    return {f"{what}pairs": len(pairs), f"{what}digest": hashlib.sha256(text.encode()).hexdigest()}


def _new_model(
    settings: Settings, recipe: TrainingRecipe, pairs: Sequence[tuple[str, str]]
) -> tuple[TransformerConfig, Vocabularies]:
    source, target = build_vocabularies(pairs, recipe.pipeline, recipe.min_freq, shared=settings.shares_embeddings())
    ids: dict[str, Any] = {"pad_id": target.pad_id, "bos_id": target.bos_id, "eos_id": target.eos_id}
    if "suppress_ids" not in settings.model:
        # A translation is made of words: the model is not to answer with <unk>, <pad> or <bos>.
        ids["suppress_ids"] = tuple(sorted({target.unk_id, target.pad_id, target.bos_id} - {target.eos_id}))
    return settings.config(source_vocab_size=len(source), target_vocab_size=len(target), **ids), (source, target)
