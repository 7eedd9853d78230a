"""The training loop, written once: a backend's trainer takes the steps, and all that is around them is here."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from ..backend import Backend
from ..batch import EpochBatches
from ..checkpoint import Checkpoint, check_nothing_lost, write_checkpoint
from ..data.vocabulary import Vocabulary
from ..distributed import Alone, Processes
from ..errors import ConfigError
from .agreement import Agreement, told_of_processes
from .begun import recipe_of, state_of
from .destination import SAVE, check_as_found, contents
from .interruption import CTRL_C, Interruption
from .progress import Progress, Reading
from .recipe import TrainingRecipe
from .records import without_bleu
from .schedules import SCHEDULES, Span
from .state import TrainingState
from .validation import KeptWeights, Translated, check_finite, check_validation, validate


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C, or another of the signals, during training.

    Attributes:
        folder: where the checkpoint is that continues exactly here, or None.
        exit_status: as a shell counts a process that the signal ended: 130 for Ctrl-C, 143 for SIGTERM.
    """

    def __init__(self, folder: Path | None, state: TrainingState, number: int = signal.SIGINT):
        saved = f"; the checkpoint in {folder} continues exactly there" if folder else ", nothing was to be saved"
        super().__init__(f"Interrupted after step {state.step} in epoch {state.epoch + 1}{saved}.")
        self.folder = folder
        self.state = state
        self.exit_status = 128 + number


@dataclass(frozen=True)
class Job:
    """The inputs of a training beside the model.

    Args:
        folder: where checkpoints go: at the end, at a signal that ends the training, after every ``save_every`` epochs, and
            after every ``save_every_steps`` steps. None saves none.
        found: what the folder held when it was looked at (``destination.contents``), None: now. A save refuses a checkpoint
            that has come there since.
        vocabularies: source and target, for the checkpoint.
        initial: the checkpoint that the model is from: what a port brought with it (``Checkpoint.ported``) goes on.
        resume: a training checkpoint; the model is put into its state, and what follows is bit for bit what
            would have followed without the interruption.
        described: what trainer.json is to say of the corpus.
        validation_batches: their loss is measured after every epoch or every ``validate_every_steps``, and at the end. With
            the recipe's ``keep`` as ``best`` the model and the checkpoint are those of the best validation in the end, and the
            checkpoint holds beside it what a resume needs.
        translated: pairs that are translated and scored each time, where the recipe says so.
        processes: those that train together, every one of which trains the same model with the same batches and recipe
            (``distributed``); the first of them alone saves.
    """

    backend: Backend
    batches: EpochBatches
    recipe: TrainingRecipe
    _: KW_ONLY
    folder: Path | str | None = None
    found: str | None = None
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None
    initial: Checkpoint | None = None
    resume: Checkpoint | None = None
    save_every: int | None = None
    save_every_steps: int | None = None
    described: Mapping[str, Any] = field(default_factory=dict)
    validation_batches: EpochBatches | None = None
    translated: Translated | None = None
    processes: Processes = field(default_factory=Alone)


def train_model(job: Job, model: Any, progress: Progress | None = None, signals: Iterable[int] = CTRL_C) -> TrainingState:
    """Train a model to the end of the recipe: the loop beneath ``train``, for models and batches of your own.

    Args:
        signals: what ends the training after the step in progress, with a checkpoint: Ctrl-C alone (``signal.SIGINT``), since
            other signals are the program's own. They are taken in the main thread, and where they have no other handler.
    Returns: the history of losses, and how fast it went.
    Raises:
        TrainingInterrupted: after such a signal, when the checkpoint is saved. NotFiniteError: a loss or a weight is NaN or
            infinite; the last checkpoint stays. CheckpointError: the folder holds vocabularies, but none are passed; or
            what ``found`` refuses. DistributedError: another process has ended, or does not hold the same weights.
    """
    loop = _Loop(job, model, progress or Progress())
    # Numbers that are not finite are looked for here; NumPy would print warnings with paths before that.
    with (
        np.errstate(all="ignore"),
        Interruption(loop.progress.interrupted, signals) as interruption,
        told_of_processes(job.processes, loop.state),
    ):
        loop.begin(interruption)
        while not loop.state.is_finished(job.recipe):
            loop.run_epoch()
            ended = loop.state.batch == len(job.batches)
            loop.validate(ended)
            if ended:
                loop.progress.epoch(loop.state.end_epoch())
            loop.save_if_due()
        loop.trainer.gathered()
    loop.close()
    return loop.state


class _Loop:
    """The loop of a training, from its state to the end of the recipe."""

    def __init__(self, job: Job, model: Any, progress: Progress):
        self.job, self.model, self.progress, recipe = job, model, progress, job.recipe
        self.trainer = job.backend.trainer(model, **recipe.trainer_options())
        self.state = TrainingState() if job.resume is None else _restored(job, model, job.resume)
        self.folder = None if job.folder is None else Path(job.folder)
        self.found = job.found or ""
        begun = job.resume or job.initial
        self.ported = {} if begun is None else begun.ported
        check_validation(model.config, recipe, job.validation_batches is not None, job.resume)
        if self.folder is not None:
            replaced = bool(self.ported) or job.found is not None  # who looked at the folder before has agreed
            check_nothing_lost(self.folder, vocabularies=job.vocabularies is not None, training=True, ported=replaced)
            self.found = contents(self.folder) if job.found is None else job.found
        if recipe.translates and job.translated is None:
            raise ConfigError("A validation by BLEU and chrF needs pairs and vocabularies (translated), got none.")
        self.state.validation_metric = recipe.validation_metric
        self.kept = KeptWeights(recipe, self.state, job.resume)
        total = recipe.schedule_steps or recipe.total_steps(len(job.batches))
        self.span = Span(recipe.warmup_steps, total, model.config.num_hiddens)
        # Steps after which an epoch pauses, for a checkpoint or a validation.
        self.pauses = [every for every in (job.save_every_steps, recipe.validate_every_steps, recipe.max_steps) if every]

    def begin(self, interruption: Interruption) -> None:
        """Agree with the other processes on what is trained, and continue the optimizer."""
        job, model = self.job, self.model
        self.agreement = Agreement(job.processes, lambda: job.backend.get_weights(model), interruption)
        facts = {"recipe": job.recipe.to_dict(), "config": model.config.to_dict(), "data": dict(job.described)}
        self.agreement.begin(self.state, facts)
        self.trainer.join(job.processes)
        if job.resume is not None and job.resume.optimizer is not None:
            self.trainer.load_state_dict(job.resume.optimizer)

    def run_epoch(self) -> None:
        """The rest of the epoch that the state is in, or up to an interruption or a pause; then all losses are read."""
        job, recipe, state, trainer = self.job, self.job.recipe, self.state, self.trainer
        schedule, span = SCHEDULES[recipe.schedule], self.span._replace(lowered=recipe.plateau_factor ** len(state.lowered))
        unread: list[tuple[Any, int]] = []
        start = perf_counter()
        before = state.loss_sum, state.tokens, start

        def read() -> None:
            nonlocal before
            self.agreement.read(unread, state)
            (loss, tokens, since), before = before, (state.loss_sum, state.tokens, perf_counter())
            if state.tokens > tokens:
                mean, speed = (state.loss_sum - loss) / (state.tokens - tokens), (state.tokens - tokens) / (before[2] - since)
                self.progress.reading(Reading(state.step, state.epoch + 1, mean, trainer.learning_rate, speed))

        stream = job.batches.epoch(state.epoch, state.batch)
        while together := list(islice(stream, recipe.accumulate)):
            trainer.learning_rate = recipe.learning_rate * schedule(state.step + 1, span)
            # With "tokens" a step's loss is a mean, which counts as often as it has tokens; with "steps" it is D2L's sum.
            num_tokens = sum(batch.num_tokens for batch in together)
            unread.append((trainer.accumulated_step(together), num_tokens if recipe.normalization == "tokens" else 1))
            state.step += 1
            state.batch += len(together)
            state.tokens += num_tokens
            if len(unread) == self.agreement.every:
                read()
            self.progress.step(state)
            if self.agreement.received is not None or any(state.step % every == 0 for every in self.pauses):
                break
        read()
        state.seconds += perf_counter() - start

    def validate(self, ended: bool) -> None:
        """Measure the model where a validation is due: where an epoch has ``ended``, or after some steps, and at the end."""
        job, recipe, state = self.job, self.job.recipe, self.state
        every = recipe.validate_every_steps
        due, over = ended if every is None else state.step % every == 0, recipe.is_over(state.epoch + ended, state.step)
        if job.validation_batches is None or not (due or over):
            return
        current, translated = self.trainer.gathered(), job.translated if recipe.translates else None
        record = validate(job.backend, current, job.validation_batches, translated, state, job.processes, recipe)
        state.validated(record, recipe, closing=not due)
        self.progress.validated(record)
        self.kept.measured(state, job.backend.get_weights(current))

    def save_if_due(self) -> None:
        """Save at the end, and when it is time. Raises TrainingInterrupted, having saved, where a signal has come."""
        job, state = self.job, self.state
        if self.agreement.received is not None:
            self._save()
            raise TrainingInterrupted(self.folder, state, self.agreement.received)
        epochs = job.save_every is not None and state.batch == 0 and state.epoch % job.save_every == 0
        steps = job.save_every_steps is not None and state.step % job.save_every_steps == 0
        if state.is_finished(job.recipe) or epochs or steps:
            self._save()

    def _save(self) -> None:
        job, state = self.job, self.state
        current, best = job.backend.get_weights(self.trainer.gathered()), self.kept.better_than_current(state)
        check_finite(job.backend, self.model, current, next(job.batches.epoch(0)), state)
        if (folder := self.folder) is None:
            return
        source, target = job.vocabularies or (None, None)
        told, saved = {"recipe": job.recipe.to_dict(), "data": dict(job.described)}, uuid4().hex
        checkpoint = Checkpoint(
            config=self.model.config,
            weights=current if best is None else best,
            source_vocabulary=source,
            target_vocabulary=target,
            **self.ported,
            optimizer=self.trainer.state_dict(),
            trainer={**state.to_dict(), **told, SAVE: saved},
            last=None if best is None else current,
            kept=self.kept.beside(),
        )
        self.agreement.by_rank_0(lambda: write_checkpoint(folder, checkpoint, partial(check_as_found, found=self.found)))
        self.found = saved
        self.progress.saved(folder, state)

    def close(self) -> None:
        """Leave the model with the weights that are kept, and tell where BLEU decided nothing."""
        job, state, recipe = self.job, self.state, self.job.recipe
        nothing = without_bleu(state.validations, recipe.validation_metric, recipe.validation_tokenize)
        if job.processes.rank == 0 and nothing:
            self.progress.warned(nothing)
        if (best := self.kept.better_than_current(state)) is not None:
            job.backend.set_weights(self.model, best)


def _restored(job: Job, model: Any, resume: Checkpoint) -> TrainingState:
    """The state of a training checkpoint, whose weights the model gets."""
    state = state_of(resume)
    job.recipe.check_continues(recipe_of(resume))
    job.backend.set_weights(model, resume.weights if resume.last is None else resume.last)
    state.check_fits(len(job.batches), job.recipe.accumulate)
    return state
