"""One training from settings to a saved checkpoint: what the ``train`` command runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..backend import Backend
from ..checkpoint import Checkpoint, check_destination, read_checkpoint
from ..checkpoint.files import holds_checkpoint
from ..config import TransformerConfig
from ..data import Batches, Vocabulary, build_vocabularies, pair_ids, read_pairs
from ..errors import CheckpointError, ConfigError
from ..registry import VARIABLE, canonical_name, get_backend
from ..training import TrainingRecipe, TrainingState, train
from ..training.recipe import check_unchanged
from ..translation import Translator, text_vocabularies
from .train_progress import training_progress
from .train_settings import Settings, from_checkpoint

SAVE_EVERY = 10  # epochs


class Job(NamedTuple):
    """Everything ready to train."""

    backend: Backend
    config: TransformerConfig
    recipe: TrainingRecipe
    pairs: Sequence[tuple[str, str]]
    vocabularies: tuple[Vocabulary, Vocabulary]
    folder: Path | None
    save_every: int | None = None
    described: Mapping[str, Any] = MappingProxyType({})
    resume: Checkpoint | None = None


def prepare(settings: Settings, resume: bool = False, force: bool = False) -> Job:
    """Find everything that can be wrong before training begins."""
    folder = _destination(settings, resume, force)
    checkpoint = read_checkpoint(folder) if resume else None
    before = Settings()
    if checkpoint is not None:
        if checkpoint.trainer is None:
            raise CheckpointError(f"{folder} holds a model alone, which cannot be resumed: its training state is not there.")
        before = from_checkpoint(checkpoint.trainer)
    run = _where(settings.run, before.run)
    backend = get_backend(run["backend"], run["device"], run["dtype"])
    settings = settings.over(before)
    recipe = settings.recipe()
    pairs = _read(settings.data, recipe.num_examples, "source", "target")
    described = {**settings.data, "pairs": len(pairs), "digest": _digest(pairs), "run": run}
    if checkpoint is None:
        config, both = _new_model(settings, recipe, pairs)
    else:
        config, both = _old_model(settings, checkpoint, folder, described)
    if config.architecture != "encoder_decoder":
        raise ConfigError(f"Sentence pairs train an encoder_decoder, but the architecture is {config.architecture}.")
    save_every = settings.run.get("save_every", SAVE_EVERY)
    return Job(backend, config, recipe, pairs, both, folder, save_every, described, checkpoint)


def execute(job: Job) -> tuple[TrainingState, Translator]:
    """Train and save."""
    batches = Batches(
        pair_ids(job.pairs, *job.vocabularies),
        job.recipe.batch_size,
        job.recipe.seed,
        num_steps=job.recipe.num_steps,
        max_len=job.config.max_len,
        start_id=job.config.start_id,
        eos_id=job.config.eos_id,
        pad_id=job.config.pad_id,
    )
    model = job.backend.build(job.config, job.recipe.seed, job.recipe.initialization)
    done = int(job.resume.optimizer["step"]) if job.resume and job.resume.optimizer else 0
    with training_progress(job.recipe.epochs, job.recipe.epochs * len(batches), done) as progress:
        state = train(
            job.backend,
            model,
            batches,
            job.recipe,
            folder=job.folder,
            vocabularies=job.vocabularies,
            resume=job.resume,
            save_every=job.save_every,
            data=job.described,
            progress=progress,
        )
    return state, Translator(job.backend, model, *job.vocabularies)


def read_validation(data: Mapping[str, Any]) -> list[tuple[str, str]] | None:
    """The pairs to score after training, if any were named."""
    return _read(data, None, "validation", "validation_target") if data.get("validation") else None


def _destination(settings: Settings, resume: bool, force: bool) -> Path:
    if not settings.run.get("out"):
        raise ConfigError("A folder for the checkpoint was expected (--out DIR), got none.")
    folder = Path(settings.run["out"])
    if resume:
        return folder
    check_destination(folder)
    if holds_checkpoint(folder) and not force:
        raise CheckpointError(f"{folder} holds a checkpoint already: continue it with --resume or replace it with --force.")
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise CheckpointError(f"{folder} cannot be created: {there} must be a folder that may be written to.")
    return folder


def _where(asked: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Backend, device and dtype: as asked, then as the environment says, then as training began."""
    name = canonical_name(asked.get("backend") or os.environ.get(VARIABLE) or before.get("backend") or "numpy")
    before = before if name == before.get("backend") else {}
    device = asked.get("device") or before.get("device")
    return {"backend": name, "device": device, "dtype": asked.get("dtype") or before.get("dtype") or "float32"}


def _read(data: Mapping[str, Any], num_examples: int | None, source: str, target: str) -> list[tuple[str, str]]:
    if not data.get(source):
        raise ConfigError("A file of sentence pairs was expected (--data FILE, or source in [data]), got none.")
    return read_pairs(data[source], data.get(target), num_examples=num_examples, fields=data.get("fields"))


def _digest(pairs: list[tuple[str, str]]) -> str:
    return hashlib.sha256("\n".join(f"{source}\t{target}" for source, target in pairs).encode()).hexdigest()


def _new_model(
    settings: Settings, recipe: TrainingRecipe, pairs: list[tuple[str, str]]
) -> tuple[TransformerConfig, tuple[Vocabulary, Vocabulary]]:
    source, target = build_vocabularies(pairs, recipe.pipeline, recipe.min_freq, shared=settings.shares_embeddings())
    ids: dict[str, Any] = {"pad_id": target.pad_id, "bos_id": target.bos_id, "eos_id": target.eos_id}
    if "suppress_ids" not in settings.model:
        # A translation is made of words: the model is not to answer with <unk>, <pad> or <bos>.
        ids["suppress_ids"] = tuple(sorted({target.unk_id, target.pad_id, target.bos_id} - {target.eos_id}))
    return settings.config(source_vocab_size=len(source), target_vocab_size=len(target), **ids), (source, target)


def _old_model(
    settings: Settings, checkpoint: Checkpoint, folder: Path, described: Mapping[str, Any]
) -> tuple[TransformerConfig, tuple[Vocabulary, Vocabulary]]:
    """The model of the checkpoint; a model or data other than those that training began with are refused."""
    both = text_vocabularies(checkpoint, folder)
    config = checkpoint.config
    check_unchanged("model", config, {name: value for name, value in settings.model.items() if name != "preset"})
    digest = ((checkpoint.trainer or {}).get("data") or {}).get("digest")
    if digest is not None and digest != described["digest"]:
        raise ConfigError(
            f"A training must be resumed with the sentence pairs it began with, got others from {described['source']}: "
            f"{described['pairs']} pairs, not {(checkpoint.trainer or {})['data'].get('pairs')}."
        )
    return config, both
