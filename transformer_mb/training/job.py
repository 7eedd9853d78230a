"""A training from settings to a saved checkpoint: what ``train`` and the ``train`` command run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..backend import Backend
from ..checkpoint import Checkpoint
from ..checkpoint.files import holds_checkpoint
from ..config import TransformerConfig
from ..data import Batches, Pairs, TokenizedPairs
from ..data.padding import check_limits
from ..distributed import Alone, Place
from ..errors import ConfigError
from ..parameters import parameter_shapes
from ..registry import get_backend, join_processes, requested_name
from ..trainer import check_offered
from ..training_options import FILES, RUN_DEFAULTS
from .begun import Saved, begun_model, check_pairs, damaged_in, recipe_of, saved_in
from .corpus import CorpusCounts, count_corpus
from .corpus_source import CorpusSource, Vocabularies, named_vocabularies, validation_pairs
from .initial_model import Model, config_of, ignored_initial, initial_model, new_model
from .lengths import within_lengths
from .logs import LogPlaces
from .loop import Job
from .named_places import check_named_places, check_used, in_names, log_places, own_cache, own_device, where
from .own_files import id_in, id_of
from .recipe import TrainingRecipe
from .settings import DecodingOptions, Settings
from .state import TrainingState
from .validation import Translated, check_validation

SAVES = ("save_every", "save_every_steps")
MANY = 1 << 20  # words, where the model's own options are looked at before there are vocabularies


@dataclass(frozen=True, kw_only=True)
class Given:
    """The objects that Python hands over, and a command names."""

    pairs: Pairs | None = None
    validation: Pairs | None = None
    backend: Backend | None = None
    vocabularies: Vocabularies | None = None
    by_command: bool = False

    @property
    def handed(self) -> dict[str, bool]:
        """Tell which pairs are no file's."""
        return {"pairs": self.pairs is not None, "validation": self.validation is not None}


@dataclass(frozen=True, kw_only=True)
class PreparedJob(Job):
    """A Job from settings. ``state``: where training stands; ``found``: what the folder held, and is to hold until the first
    save."""

    batches: Batches
    vocabularies: Vocabularies
    folder: Path | None
    found: str
    config: TransformerConfig
    corpus: CorpusCounts
    state: TrainingState
    validation: Pairs | None
    validation_dropped: int
    decoding: DecodingOptions
    logs: LogPlaces

    @property
    def runs_on(self) -> str:
        return f"{self.backend.name}, {self.backend.device_name}, {self.backend.dtype}"

    @property
    def is_finished(self) -> bool:
        """Tell whether there is nothing left to train."""
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
    progress: Callable[[str], None] = lambda text: None,
) -> PreparedJob:
    """Find everything that can be wrong before training begins.

    One of several processes, at a ``place``, meets the others; with ``shard`` each keeps a part of the weights.
    ``progress`` hears how far the reading of a large corpus is.
    """
    if resume not in (True, False, "auto"):
        raise ConfigError(f'resume must be True, False or "auto", got {resume!r}.')
    requested, given, place, out = settings, given or Given(by_command=True), place or Place.of_one(), settings.run.get("out")
    goes_on = bool(out) and holds_checkpoint(Path(str(out))) if resume == "auto" else bool(resume)
    check_named_places(requested)
    initial, begin, backend = initial_model(requested, resume, goes_on), None, given.backend
    if not goes_on:
        _check_requested(requested, given)
        if backend is None and place.size == 1 and not shard:
            backend = get_backend(*where(requested.run, {}, None).values())
        begin = _model_without_pairs(requested, given, initial)
    saved = saved_in(requested, goes_on, force, place)
    checkpoint, merged = saved.checkpoint, requested.over(saved.settings)
    check_used(requested, merged, **given.handed)
    logs = _logs(requested, saved, merged, goes_on=bool(resume), replace=force)
    saved.check_files(requested.data, **given.handed)
    run = where(requested.run, saved.settings.run, given.backend)
    processes = Alone() if place.size == 1 and not shard else join_processes(run["backend"], place, shard)
    backend = backend or get_backend(run["backend"], own_device(run["device"], place), run["dtype"])
    recipe, decoding = merged.recipe(), merged.decoding_options()
    check_offered(backend.name, backend.dtype, backend.trainer_class, recipe)
    if checkpoint is not None:
        recipe.check_continues(recipe_of(checkpoint))
    if given.pairs is None and not merged.data.get("source"):
        raise ConfigError(_missing_pairs(goes_on, given.by_command))
    source = CorpusSource.of(given.pairs, merged.data, recipe.num_examples, saved.folder, progress)
    validation = given.validation or validation_pairs(merged.data)
    if checkpoint is None:
        config, both = begin or new_model(merged, _of_words(merged, recipe, source))
    else:
        config, both = begun_model(requested, checkpoint, _named(requested, given, recipe))
    pairs = within_lengths(source, both, recipe, config.max_len, given.pairs, merged.data)
    measured = None
    if validation:
        measured = within_lengths(CorpusSource(validation), both, recipe, config.max_len, given.validation, merged.data, True)
    described = _described(requested, saved, merged, in_names(run, backend), logs, pairs, measured)
    saves: dict[str, Any] = {name: merged.run.get(name, RUN_DEFAULTS.get(name)) for name in SAVES}
    check_limits(**saves)
    check_validation(config, recipe, validation is not None, checkpoint)
    state, batches = saved.state, _batches(pairs, both, recipe, config, backend)
    if checkpoint is not None:
        with damaged_in(saved.folder):
            state.check_fits(len(batches), recipe.accumulate)
    parameters = sum(math.prod(shape) for shape in parameter_shapes(config).values())
    return PreparedJob(
        backend=backend,
        config=config,
        recipe=recipe,
        vocabularies=both,
        batches=batches,
        corpus=count_corpus(pairs, both, recipe.num_steps, parameters, source.action),
        state=state,
        described=described,
        folder=saved.folder,
        found=saved.found,
        **saves,
        resume=checkpoint,
        initial=initial,
        processes=processes,
        validation=validation,
        translated=None if validation is None else Translated(validation, both),
        validation_batches=None if measured is None else _batches(measured, both, recipe, config, backend, measured=True),
        validation_dropped=0 if measured is None else measured.counts.too_long,
        decoding=decoding,
        logs=logs,
    )


def _check_requested(requested: Settings, given: Given) -> None:
    """Refuse whatever can be wrong with the options of a new training alone, before anything is said of a folder or a file."""
    recipe = requested.recipe()
    requested.decoding_options()
    requested_name(None if given.backend is not None else requested.run.get("backend"))
    check_limits(**{name: requested.run.get(name) for name in SAVES})
    if not requested.run.get("init_from"):  # whose model decides on the rest
        many: dict[str, Any] = {"source_vocab_size": MANY, "target_vocab_size": MANY, "pad_id": 0, "bos_id": 1, "eos_id": 2}
        check_validation(requested.config(**many), recipe, bool(given.validation or requested.data.get("validation")), None)
    if given.pairs is None and not requested.data.get("source"):
        raise ConfigError(_missing_pairs(False, given.by_command))


def _model_without_pairs(requested: Settings, given: Given, initial: Checkpoint | None) -> Model | None:
    """The model and vocabularies to begin with, where no pair has to be read for them."""
    check_used(requested, requested, **given.handed)
    named = _named(requested, given, requested.recipe())
    if initial is not None:
        return config_of(initial, requested, named)
    return None if named is None else new_model(requested, named)


def _logs(requested: Settings, saved: Saved, merged: Settings, *, goes_on: bool, replace: bool) -> LogPlaces:
    """Return the places of logs; and forget the cache that only trainer.json names where it is none of this training's."""
    files, begun = [merged.data[name] for name in FILES if merged.data.get(name)], saved.settings
    identity = id_in(saved.trainer)
    known: dict[str, Any] = {"identity": identity or id_of(requested), "unmarked": bool(saved.trainer) and identity is None}
    never = (requested.run.get("out"), *files)
    logs = log_places(requested.run, begun.run, never, goes_on=goes_on, replace=replace, **known)
    if own_cache(requested.data, begun.data, logs.notes) is None:
        merged.data.pop("cache", None)
    return logs


def _described(
    requested: Settings,
    saved: Saved,
    merged: Settings,
    ran: dict[str, Any],
    logs: LogPlaces,
    pairs: TokenizedPairs,
    measured: TokenizedPairs | None,
) -> dict[str, Any]:
    """Return what trainer.json is to say of data and run; raises DataError for other data than training began with."""
    ran |= {name: merged.run[name] for name in SAVES if merged.run.get(name) is not None} | logs.named()
    described = {**merged.data, "preset": merged.preset, "id": logs.identity, "run": ran, **_digests("", pairs)}
    began_from = requested.run.get("init_from")
    if saved.checkpoint is not None:
        began_from = (saved.trainer.get("data") or {}).get("init_from")
        logs.notes.extend(ignored_initial(requested, began_from))
    described |= {"init_from": began_from} if began_from is not None else {}
    described |= {"decoding": merged.decoding} if merged.decoding else {}
    described |= {} if measured is None else _digests("validation_", measured)
    if saved.checkpoint is not None:
        check_pairs(saved.checkpoint, described)
    return described


def _digests(what: str, pairs: TokenizedPairs) -> dict[str, Any]:
    return {f"{what}pairs": pairs.counts.pairs, f"{what}digest": pairs.counts.digest}


def _batches(
    pairs: TokenizedPairs,
    vocabularies: Vocabularies,
    recipe: TrainingRecipe,
    config: TransformerConfig,
    backend: Backend,
    measured: bool = False,
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
        frames=[one.frame for one in vocabularies],
        # A loss per step counts its padding too.
        trimmed=recipe.normalization == "tokens" and not backend.trainer_class.few_shapes,
    )


def _missing_pairs(resume: bool, by_command: bool) -> str:
    option = " (--data FILE, or source in [data])" if by_command else ""
    if resume:
        return f"data must be the same pairs again{option}, since the training began with pairs and no file, got none."
    return f"data must be a file of sentence pairs{option if by_command else ', or the pairs'}, got none."


def _named(requested: Settings, given: Given, recipe: TrainingRecipe) -> Vocabularies | None:
    return given.vocabularies or named_vocabularies(requested.data, recipe.pipeline)


def _of_words(settings: Settings, recipe: TrainingRecipe, source: CorpusSource) -> Vocabularies:
    return source.vocabularies(recipe.pipeline, recipe.min_freq, settings.shares_embeddings())
