"""One training from settings to a saved checkpoint: what ``train`` and the ``train`` command run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..backend import Backend
from ..checkpoint import Checkpoint
from ..checkpoint.files import holds_checkpoint
from ..config import TransformerConfig
from ..data import Batches, Pairs, TokenizedPairs
from ..data.padding import check_limits
from ..distributed import Alone, Place, Processes
from ..errors import ConfigError, DataError
from ..parameters import parameter_shapes
from ..registry import get_backend, join_processes, requested_name
from ..trainer import check_offered
from ..training_options import FILES, RUN_DEFAULTS
from .begun import begun_model, check_pairs, recipe_of, training_of
from .corpus import CorpusCounts, count_corpus
from .corpus_source import CorpusSource, validation_pairs
from .decoding_options import DecodingOptions
from .destination import check_folder
from .initial_model import config_of, initial_model
from .lengths import within_lengths
from .logs import check_logs
from .recipe import TrainingRecipe
from .settings import Settings, from_checkpoint
from .state import TrainingState
from .validation import check_validation
from .vocabularies import Vocabularies, check_together, named_vocabularies

SAVES = ("save_every", "save_every_steps")
# What a resume goes on with, where it says nothing else, beside backend, device and dtype.
KEPT = (*SAVES, "log", "tensorboard")


@dataclass(frozen=True, kw_only=True)
class Given:
    """What Python hands over as objects, and a command by name."""

    pairs: Pairs | None = None
    validation: Pairs | None = None
    backend: Backend | None = None
    vocabularies: Vocabularies | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything ready to train. ``state``: where training stands; ``described``: what trainer.json is to say;
    ``is_new``: the folder held no checkpoint that may be replaced."""

    backend: Backend
    config: TransformerConfig
    recipe: TrainingRecipe
    vocabularies: Vocabularies
    batches: Batches
    corpus: CorpusCounts
    state: TrainingState
    described: Mapping[str, Any]
    folder: Path | None = None
    is_new: bool = False
    save_every: int = RUN_DEFAULTS["save_every"]
    save_every_steps: int | None = None
    resume: Checkpoint | None = None
    initial: Checkpoint | None = None
    processes: Processes = field(default_factory=Alone)
    validation: Pairs | None = None
    validation_batches: Batches | None = None
    validation_dropped: int = 0
    decoding: DecodingOptions
    log: str | None = None
    tensorboard: str | None = None

    @property
    def place(self) -> str:
        return f"{self.backend.name}, {self.backend.device_name}, {self.backend.dtype}"

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.state.is_finished(self.recipe)

    @property
    def compiles(self) -> bool:
        return self.backend.trainer_class.always_compiles or self.recipe.compile


def prepare(
    settings: Settings,
    given: Given | None = None,
    *,
    resume: bool | Literal["auto"] = False,
    force: bool = False,
    place: Place | None = None,
    shard: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> Job:
    """Find everything that can be wrong before training begins.

    One of several processes, at a ``place``, meets the others; with ``shard`` each keeps a part of the weights.
    ``tell`` hears how far the reading of a large corpus is.
    """
    if resume not in (True, False, "auto"):
        raise ConfigError(f'resume must be True, False or "auto", got {resume!r}.')
    by_command = given is None
    given, asked, as_asked = given or Given(), settings, resume
    out = asked.run.get("out")
    if resume == "auto":
        resume = bool(out) and holds_checkpoint(Path(str(out)))
    folder = check_folder(out, resume, force)
    checkpoint = training_of(folder) if resume else None
    begun = {} if checkpoint is None else checkpoint.trainer or {}
    state = TrainingState() if checkpoint is None else TrainingState.from_dict(begun)
    before = from_checkpoint(begun)
    if checkpoint is not None and asked.preset not in (None, before.preset):
        raise ConfigError(f"Training must be resumed with the preset it began with, {before.preset}, got {asked.preset}.")
    initial = initial_model(asked, as_asked, checkpoint is not None)
    settings = asked.over(before)
    logs: dict[str, Any] = {name: settings.run.get(name) for name in ("log", "tensorboard")}
    files = [settings.data[name] for name in FILES if settings.data.get(name)]
    check_logs(**logs, replace=force or bool(resume), never=(out, *files))
    _check_places(before.data, asked.data, given)
    run = _where(asked.run, before.run, given.backend)
    place = place or Place.of_one()
    processes = Alone() if place.size == 1 and not shard else join_processes(run["backend"], place, shard)
    backend = given.backend or get_backend(run["backend"], _own_device(run["device"], place), run["dtype"])
    recipe, decoding = settings.recipe(), settings.decoding_options()
    check_offered(backend.name, backend.dtype, backend.trainer_class, recipe)
    if checkpoint is not None:
        recipe.check_continues(recipe_of(checkpoint))
    if given.pairs is None and not settings.data.get("source"):
        raise ConfigError(_missing_pairs(resume, by_command))
    source = CorpusSource.of(given.pairs, settings.data, recipe.num_examples, folder, tell)
    validation = given.validation or validation_pairs(settings.data)
    named = (settings if checkpoint is None else asked).data
    chosen = given.vocabularies or named_vocabularies(named, recipe.pipeline)
    if initial is not None:
        config, both = config_of(initial, asked, chosen)
    elif checkpoint is None:
        config, both = _new_model(settings, chosen or _of_words(settings, recipe, source))
    else:
        config, both = begun_model(asked, checkpoint, chosen)
    pairs = within_lengths(source, both, recipe, config.max_len, given.pairs, settings.data)
    measured = None
    if validation:
        measured = within_lengths(CorpusSource(validation), both, recipe, config.max_len, given.validation, settings.data, True)
    kept = {name: settings.run[name] for name in KEPT if settings.run.get(name) is not None}
    described = {**settings.data, "preset": settings.preset, "run": {**_named(run, backend), **kept}}
    described |= _digests("", pairs)
    described |= {"init_from": asked.run["init_from"]} if initial is not None else {}
    described |= {"decoding": settings.decoding} if settings.decoding else {}
    if measured is not None:
        described |= _digests("validation_", measured)
    if checkpoint is not None:
        check_pairs(checkpoint, described)
    saves: dict[str, Any] = {name: settings.run.get(name, RUN_DEFAULTS.get(name)) for name in SAVES}
    check_limits(**saves)
    check_validation(config, recipe, validation is not None, checkpoint)
    parameters = sum(math.prod(shape) for shape in parameter_shapes(config).values())
    return Job(
        backend=backend,
        config=config,
        recipe=recipe,
        vocabularies=both,
        batches=_batches(pairs, recipe, config, backend),
        corpus=count_corpus(pairs, both, recipe.num_steps, parameters, source.action),
        state=state,
        described=described,
        folder=folder,
        is_new=not resume and not force,
        **saves,
        resume=checkpoint,
        initial=initial,
        processes=processes,
        validation=validation,
        validation_batches=None if measured is None else _batches(measured, recipe, config, backend, measured=True),
        validation_dropped=0 if measured is None else measured.counts.too_long,
        decoding=decoding,
        **logs,
    )


def _check_places(begun: Mapping[str, Any], asked: Mapping[str, Any], given: Given) -> None:
    """A training that goes on finds the files that it began with, or is told where they are now."""
    named = {*asked, *(FILES[:2] if given.pairs is not None else ()), *(FILES[2:] if given.validation is not None else ())}
    for name in FILES:
        path = begun.get(name)
        if path and name not in named and not Path(path).exists():
            option = "data" if name == "source" else name
            raise DataError(
                f"There is no file {path}, which this training began with: {option} (--{option.replace('_', '-')}) names it "
                "where it is now."
            )


def _batches(
    pairs: TokenizedPairs, recipe: TrainingRecipe, config: TransformerConfig, backend: Backend, measured: bool = False
) -> Batches:
    """``measured``: in one order, and longer sentences than the model takes are cut."""
    return Batches(
        pairs,
        recipe.batch_size,
        recipe.seed,
        batch_tokens=recipe.batch_tokens,
        num_steps=recipe.num_steps,
        max_len=config.max_len,
        truncate=measured,
        start_id=config.start_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        shuffle=not measured,
        # A loss per step counts its padding too.
        trimmed=recipe.normalization == "tokens" and not backend.trainer_class.few_shapes,
    )


def _where(asked: Mapping[str, Any], before: Mapping[str, Any], backend: Backend | None) -> dict[str, Any]:
    """Backend, device and dtype: as asked, then as training began, then as the environment says."""
    if backend is not None:
        return {"backend": backend.name, "device": backend.device_name, "dtype": backend.dtype}
    name = requested_name(asked.get("backend") or before.get("backend"))
    before = before if name == before.get("backend") else {}
    device = asked.get("device") or before.get("device")
    return {"backend": name, "device": device, "dtype": asked.get("dtype") or before.get("dtype") or RUN_DEFAULTS["dtype"]}


def _named(run: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """Where it runs, in names: Python may give objects of the framework's."""
    device = run["device"]
    return {**run, "device": device if isinstance(device, str | None) else backend.device_name, "dtype": backend.dtype}


def _own_device(device: Any, place: Place) -> Any:
    """Of several processes on one machine each has a GPU of its own, unless the device has a number."""
    return device if place.size == 1 or str(device) not in ("cuda", "gpu") else f"{device}:{place.local_rank}"


def _missing_pairs(resume: bool, by_command: bool) -> str:
    option = " (--data FILE, or source in [data])" if by_command else ""
    if resume:
        return f"data must be the same pairs again{option}, since the training began with pairs and no file, got none."
    return f"data must be a file of sentence pairs{option if by_command else ', or the pairs'}, got none."


def _digests(what: str, pairs: TokenizedPairs) -> dict[str, Any]:
    return {f"{what}pairs": pairs.counts.pairs, f"{what}digest": pairs.counts.digest}


def _of_words(settings: Settings, recipe: TrainingRecipe, source: CorpusSource) -> Vocabularies:
    return source.vocabularies(recipe.pipeline, recipe.min_freq, settings.shares_embeddings())


def _new_model(settings: Settings, vocabularies: Vocabularies) -> tuple[TransformerConfig, Vocabularies]:
    source, target = vocabularies
    check_together(source, target, settings.shares_embeddings())
    ids: dict[str, Any] = {"pad_id": target.pad_id, "bos_id": target.bos_id, "eos_id": target.eos_id}
    if "suppress_ids" not in settings.model:
        # A translation is made of words: the model is not to answer with <unk>, <pad> or <bos>.
        ids["suppress_ids"] = tuple(sorted({target.unk_id, target.pad_id, target.bos_id} - {target.eos_id}))
    return settings.config(source_vocab_size=len(source), target_vocab_size=len(target), **ids), (source, target)
