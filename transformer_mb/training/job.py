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
from .begun import begun_model, check_pairs, damaged_in, recipe_of, training_of
from .corpus import CorpusCounts, count_corpus
from .corpus_source import CorpusSource, validation_pairs
from .decoding_options import DecodingOptions
from .destination import check_folder, check_untrained, contents
from .initial_model import config_of, ignored_initial, initial_model
from .lengths import within_lengths
from .logs import LogPlaces
from .named_places import check_named_places, check_used
from .own_files import id_in, id_of
from .recipe import TrainingRecipe
from .settings import Settings, from_checkpoint
from .state import TrainingState
from .validation import check_validation
from .vocabularies import Vocabularies, check_together, named_vocabularies
from .whereabouts import in_names, log_places, own_cache, own_device, where

SAVES = ("save_every", "save_every_steps")
MANY = 1 << 20  # words, where the model's own options are looked at before there are vocabularies


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
    ``found``: what the folder held (``destination.contents``), and is to hold until the first save."""

    backend: Backend
    config: TransformerConfig
    recipe: TrainingRecipe
    vocabularies: Vocabularies
    batches: Batches
    corpus: CorpusCounts
    state: TrainingState
    described: Mapping[str, Any]
    folder: Path | None = None
    found: str = ""
    save_every: int = RUN_DEFAULTS["save_every"]
    save_every_steps: int | None = None
    resume: Checkpoint | None = None
    initial: Checkpoint | None = None
    processes: Processes = field(default_factory=Alone)
    validation: Pairs | None = None
    validation_batches: Batches | None = None
    validation_dropped: int = 0
    decoding: DecodingOptions
    logs: LogPlaces = field(default_factory=LogPlaces)

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
    place, out = place or Place.of_one(), asked.run.get("out")
    if resume == "auto":
        resume = bool(out) and holds_checkpoint(Path(str(out)))
    backend = given.backend
    check_named_places(asked)
    handed = {"pairs": given.pairs is not None, "validation": given.validation is not None}
    initial = initial_model(asked, as_asked, bool(resume))
    begin: tuple[TransformerConfig, Vocabularies] | None = None  # where no pair has to be read for it
    if not resume:
        _check_asked(asked, given, by_command)
        if backend is None and place.size == 1 and not shard:
            backend = get_backend(*where(asked.run, {}, None).values())
        check_used(asked, asked, **handed)
        chosen = given.vocabularies or named_vocabularies(asked.data, asked.recipe().pipeline)
        if initial is not None:
            begin = config_of(initial, asked, chosen)
        elif chosen is not None:
            begin = _new_model(asked, chosen)
    folder = check_folder(out, resume, force)
    if folder is not None and not place.rank:
        check_untrained(folder)
    found = "" if folder is None else contents(folder)
    checkpoint = training_of(folder) if resume else None
    begun = {} if checkpoint is None else checkpoint.trainer or {}
    state = TrainingState() if checkpoint is None else TrainingState.from_dict(begun)
    before = from_checkpoint(begun)
    check_named_places(before)
    if checkpoint is not None and asked.preset not in (None, before.preset):
        raise ConfigError(f"Training must be resumed with the preset it began with, {before.preset}, got {asked.preset}.")
    settings = asked.over(before)
    check_used(asked, settings, **handed)
    files = [settings.data[name] for name in FILES if settings.data.get(name)]
    known: dict[str, Any] = {"identity": id_in(begun) or id_of(asked), "unmarked": bool(begun) and id_in(begun) is None}
    logs = log_places(asked.run, before.run, (out, *files), goes_on=bool(as_asked), replace=force, **known)
    if own_cache(asked.data, before.data, logs.notes) is None:
        settings.data.pop("cache", None)
    _check_places(before.data, asked.data, given)
    run = where(asked.run, before.run, given.backend)
    processes = Alone() if place.size == 1 and not shard else join_processes(run["backend"], place, shard)
    backend = backend or get_backend(run["backend"], own_device(run["device"], place), run["dtype"])
    recipe, decoding = settings.recipe(), settings.decoding_options()
    check_offered(backend.name, backend.dtype, backend.trainer_class, recipe)
    if checkpoint is not None:
        recipe.check_continues(recipe_of(checkpoint))
    if given.pairs is None and not settings.data.get("source"):
        raise ConfigError(_missing_pairs(resume, by_command))
    source = CorpusSource.of(given.pairs, settings.data, recipe.num_examples, folder, tell)
    validation = given.validation or validation_pairs(settings.data)
    if checkpoint is None:
        config, both = begin or _new_model(settings, _of_words(settings, recipe, source))
    else:
        chosen = given.vocabularies or named_vocabularies(asked.data, recipe.pipeline)
        config, both = begun_model(asked, checkpoint, chosen)
    pairs = within_lengths(source, both, recipe, config.max_len, given.pairs, settings.data)
    measured = None
    if validation:
        measured = within_lengths(CorpusSource(validation), both, recipe, config.max_len, given.validation, settings.data, True)
    kept = {name: settings.run[name] for name in SAVES if settings.run.get(name) is not None}
    ran = {**in_names(run, backend), **kept, **logs.named()}
    described = {**settings.data, "preset": settings.preset, "id": logs.identity, "run": ran}
    described |= _digests("", pairs)
    began_from = asked.run.get("init_from") if checkpoint is None else (begun.get("data") or {}).get("init_from")
    described |= {"init_from": began_from} if began_from is not None else {}
    if checkpoint is not None:
        logs.notes.extend(ignored_initial(asked, began_from))
    described |= {"decoding": settings.decoding} if settings.decoding else {}
    if measured is not None:
        described |= _digests("validation_", measured)
    if checkpoint is not None:
        check_pairs(checkpoint, described)
    saves: dict[str, Any] = {name: settings.run.get(name, RUN_DEFAULTS.get(name)) for name in SAVES}
    check_limits(**saves)
    check_validation(config, recipe, validation is not None, checkpoint)
    batches = _batches(pairs, recipe, config, backend)
    if checkpoint is not None:
        with damaged_in(folder):
            state.check_fits(len(batches), recipe.accumulate)
    parameters = sum(math.prod(shape) for shape in parameter_shapes(config).values())
    return Job(
        backend=backend,
        config=config,
        recipe=recipe,
        vocabularies=both,
        batches=batches,
        corpus=count_corpus(pairs, both, recipe.num_steps, parameters, source.action),
        state=state,
        described=described,
        folder=folder,
        found=found,
        **saves,
        resume=checkpoint,
        initial=initial,
        processes=processes,
        validation=validation,
        validation_batches=None if measured is None else _batches(measured, recipe, config, backend, measured=True),
        validation_dropped=0 if measured is None else measured.counts.too_long,
        decoding=decoding,
        logs=logs,
    )


def _check_asked(asked: Settings, given: Given, by_command: bool) -> None:
    """Whatever can be wrong with the options of a new training alone: it is said before anything of a folder or a file."""
    recipe = asked.recipe()
    asked.decoding_options()
    requested_name(None if given.backend is not None else asked.run.get("backend"))
    check_limits(**{name: asked.run.get(name) for name in SAVES})
    if not asked.run.get("init_from"):  # whose model decides on the rest
        many: dict[str, Any] = {"source_vocab_size": MANY, "target_vocab_size": MANY, "pad_id": 0, "bos_id": 1, "eos_id": 2}
        check_validation(asked.config(**many), recipe, bool(given.validation or asked.data.get("validation")), None)
    if given.pairs is None and not asked.data.get("source"):
        raise ConfigError(_missing_pairs(False, by_command))


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
