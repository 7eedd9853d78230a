"""``train``: from sentence pairs to a model that translates."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Unpack

from ..backend import Backend
from ..data import Pairs, Vocabulary
from ..distributed import Place
from ..errors import ConfigError, DataError
from ..fields import check_names
from ..inference.translation import Translator
from ..registry import chosen_backend
from ..training_options import DATA, RUN, TRAINING, TrainingOptions
from .announced import notes, opening, schedule_notes
from .corpus import CorpusCounts
from .destination import trained_alone
from .interruption import CTRL_C
from .job import Given, PreparedJob, prepare
from .logs import opened_logs
from .loop import train_model
from .named_places import check_kinds
from .printed_progress import training_progress
from .progress import Progress, Together, check_called
from .records import EpochRecord, ValidationRecord
from .settings import MODEL_OPTIONS, Settings
from .state import TrainingState

# Arguments that are paths alone.
PLACES = (
    *("target", "tokenizer", "vocabulary", "target_vocabulary", "validation_target", "cache"),
    *("folder", "log", "tensorboard", "init_from"),
)
Source = str | PathLike[str] | Iterable[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Trained:
    """The result of a training.

    Attributes:
        translator: the model that is kept, with its vocabularies; corpus: the counts of what it learned from.
        state: where training stands, with the ``history`` of all epochs.
        tokens_per_second: target tokens, of what was trained now; 0 where nothing was.
        folder: where the checkpoint is, or None.
    """

    translator: Translator
    corpus: CorpusCounts
    state: TrainingState
    tokens_per_second: float
    folder: Path | None

    @property
    def model(self) -> Any:
        """The native model: the one of the best validation where it is known, else of the last step."""
        return self.translator.model

    @property
    def history(self) -> list[EpochRecord]:
        return self.state.history

    @property
    def validations(self) -> list[ValidationRecord]:
        return self.state.validations

    @property
    def best(self) -> ValidationRecord | None:
        """The best validation, by the recipe's ``validation_metric``; None without any."""
        return self.state.best


def train(
    data: Source | None,
    folder: str | PathLike[str] | None = None,
    *,
    target: str | PathLike[str] | None = None,
    fields: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
    bad_lines: str | None = None,
    cache: str | PathLike[str] | None = None,
    validation: Source | None = None,
    validation_target: str | PathLike[str] | None = None,
    tokenizer: str | PathLike[str] | tuple[Vocabulary, Vocabulary] | None = None,
    init_from: str | PathLike[str] | None = None,
    vocabulary: str | PathLike[str] | None = None,
    target_vocabulary: str | PathLike[str] | None = None,
    preset: str | None = None,
    backend: str | Backend | None = None,
    device: Any = None,
    dtype: Any = None,
    save_every: int | None = None,
    save_every_steps: int | None = None,
    log: str | PathLike[str] | None = None,
    tensorboard: str | PathLike[str] | None = None,
    resume: bool | Literal["auto"] = False,
    force: bool = False,
    verbose: bool = False,
    progress: Progress | None = None,
    signals: Iterable[int] = CTRL_C,
    place: Place | None = None,
    shard: bool = False,
    **options: Unpack[TrainingOptions],
) -> Trained:
    """Train a model on sentence pairs, and save it.

    Args:
        data: a file as ``data.read_pairs`` reads it, with ``target``, ``fields`` or ``columns``; or (source, target)
            sentences. None, with ``resume``: the file that the training began with.
        folder: where the checkpoint goes; None keeps the model only in memory.
        bad_lines, cache: what becomes of lines of a file that cannot be trained on, and where the ids of a large one are kept
            (docs/TRAINING.md).
        validation: pairs, given as ``data`` is, which are measured after every epoch or every ``validate_every_steps``.
        tokenizer: subwords, instead of the recipe's pipeline: a folder of ``transformer-mb tokenizer train``, a tokenizer.json
            or a SentencePiece .model for both sides; or two vocabularies. vocabulary, target_vocabulary: files of words, in the
            place of those of the pairs (``data.read_vocabulary_file``); the first alone is for both sides.
        init_from: a checkpoint folder whose model, configuration and vocabularies the training begins with, and not its
            optimizer: a model of other pairs is trained further on these.
        preset: a published architecture with its recipe (``transformer_mb.presets``).
        backend: a name with ``device`` and ``dtype``, or a Backend, which has its own; None: as the training began, else
            ``TRANSFORMER_MB_BACKEND``, else numpy.
        save_every: epochs between two checkpoints, 10 by default; the last epoch and Ctrl-C save in any case.
        save_every_steps: steps between two checkpoints, besides; None saves none within an epoch.
        log: a file of JSON lines: each reading of the loss, every 32 steps and where something is measured or saved, and each
            validation. tensorboard: a folder that gets the same. A resume goes on in both.
        resume: continue the training in ``folder``; what is not named stays as it was. "auto" begins it where the folder
            holds no checkpoint yet, so that a job that is started again goes on. force: replace a checkpoint there.
        verbose: print what the ``train`` command prints. progress: what to call instead.
        signals: which end the training after the step in progress, with a checkpoint: Ctrl-C alone, or such as
            ``(signal.SIGINT, signal.SIGTERM)``, as the command does, in a job that a scheduler may end.
        place: which of several processes this is, such as ``distributed.Place.from_environment()``: all of them train one
            model, the first of them saves it (docs/DISTRIBUTED.md).
        shard: each of several processes of torch, or of several devices of JAX, keeps a part of the weights and moments alone.
        options: any field of TransformerConfig but those of the vocabularies, ``num_layers`` and ``num_heads`` for both
            sides, and any field of TrainingRecipe (docs/TRAINING.md lists them).
    Returns: the trained model with its translator, history, validations and counts.
    Raises:
        ConfigError, DataError, CheckpointError: naming what was expected and what was got, before any training.
        NotFiniteError: a loss or a weight is NaN or infinite; the last checkpoint stays. TrainingInterrupted: Ctrl-C,
            or another of the ``signals``. DistributedError: another process did not come, or has ended.
    """
    said: dict[str, Any] = {**locals(), "source": data, "out": folder}
    check_names("option(s) of train", options, (*MODEL_OPTIONS, *TRAINING))
    if fields is not None and (isinstance(fields, str) or not isinstance(fields, Iterable)):
        raise ConfigError(f"fields must be two names of JSON lines, source first, got {fields!r:.80}.")
    if isinstance(backend, Backend):
        chosen_backend(backend, device, dtype)
    # What is an object is no setting.
    objects = {"source": Iterable, "validation": Iterable, "backend": Backend, "tokenizer": tuple}
    said |= {name: None for name, kind in objects.items() if isinstance(said[name], kind) and not isinstance(said[name], str)}
    check_called(place, progress, signals := tuple(signals) if isinstance(signals, Iterable) else signals)
    check_kinds({name: said[name] for name in PLACES}, {name: said[name] for name in ("preset", "backend", "bad_lines")})
    settings = Settings(
        model={name: value for name, value in options.items() if name in MODEL_OPTIONS},
        training={name: value for name, value in options.items() if name in TRAINING},
        data=_table(DATA, said),
        run=_table(RUN, said),
    )
    given = Given(
        pairs=_pairs(data),
        validation=_pairs(validation),
        backend=backend if isinstance(backend, Backend) else None,
        vocabularies=tokenizer if isinstance(tokenizer, tuple) else None,
    )
    job = prepare(settings, given, resume=resume, force=force, place=place, shard=shard)
    if verbose:
        print(*job.corpus.lines(), *notes(job), opening(job), sep="\n", flush=True)
    for note in () if verbose or job.is_finished else schedule_notes(job.recipe, job.resume, len(job.batches)):
        warnings.warn(note, stacklevel=2)
    return execute(job, progress or (None if verbose else Progress()), signals)


def _table(names: Iterable[str], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as a file of settings has them; what is no list stays, and its reader refuses it."""
    given = {name: said[name] for name in names if said.get(name) is not None}
    paths = {name: fspath(value) for name, value in given.items() if isinstance(value, PathLike)}
    return given | paths | {name: list(value) for name, value in given.items() if isinstance(value, list | tuple | range)}


def _pairs(data: Source | None) -> Pairs | None:
    if data is None or isinstance(data, str | PathLike):
        return None
    if not isinstance(data, Iterable) or isinstance(data, bytes):
        raise DataError(f"Sentence pairs must be (source, target) texts, or the path of a file, got {reprlib.repr(data)}.")
    pairs = data if isinstance(data, Pairs) else Pairs(data)
    if not pairs:
        raise DataError("At least one pair of sentences was expected, got none.")
    return pairs


def execute(job: PreparedJob, progress: Progress | None = None, signals: Iterable[int] = CTRL_C) -> Trained:
    """Train and save; ``progress`` None prints it, ``signals`` end it."""
    model = job.backend.build(job.config, job.recipe.seed, job.recipe.initialization)
    if job.initial is not None:
        job.backend.set_weights(model, job.initial.weights)
    tokens, seconds = job.state.trained_tokens, job.state.train_seconds
    with ExitStack() as stack:
        shown = stack.enter_context(_shown(job, progress))
        if not job.processes.rank and not job.is_finished:  # the first of several processes writes
            if job.folder is not None:
                stack.enter_context(trained_alone(job.folder, job.found))
            shown = Together(
                shown, *stack.enter_context(opened_logs(job.logs, job.state.step, shown.warned, job.recipe.normalization))
            )
        state = train_model(job, model, shown, signals)
    job.processes.close()
    return Trained(
        translator=Translator(job.backend, model, *job.vocabularies),
        corpus=job.corpus,
        state=state,
        tokens_per_second=(state.trained_tokens - tokens) / max(state.train_seconds - seconds, 1e-9),
        folder=job.folder,
    )


def _shown(job: PreparedJob, progress: Progress | None) -> AbstractContextManager[Progress]:
    if progress is not None or job.is_finished:
        return nullcontext(progress or Progress())
    opening = "compiling" if job.compiles else "first steps"
    return training_progress(job.recipe, len(job.batches), job.state.step, opening)
