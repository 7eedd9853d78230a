"""The training loop, written once: a backend's trainer takes the steps, and all that is around them is here."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from ..backend import Backend
from ..checkpoint import Checkpoint, check_nothing_lost, write_checkpoint
from ..data.vocabulary import Vocabulary
from ..distributed import Alone, Processes
from ..errors import ConfigError
from ..trainer import Trainer
from .agreement import Agreement, told_of_processes
from .batches import EpochBatches
from .begun import recipe_of, state_of
from .destination import SAVE, check_as_found, contents
from .greedy_scores import Translated
from .interruption import CTRL_C, Interruption
from .progress import Progress, Reading
from .ranking import without_bleu
from .recipe import TrainingRecipe
from .schedules import SCHEDULES, Span
from .state import TrainingState
from .validation import KeptWeights, check_finite, check_validation, validate


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


def train_model(
    backend: Backend,
    model: Any,
    batches: EpochBatches,
    recipe: TrainingRecipe,
    *,
    folder: Path | str | None = None,
    found: str | None = None,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    resume: Checkpoint | None = None,
    save_every: int | None = None,
    save_every_steps: int | None = None,
    data: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    validation: EpochBatches | None = None,
    translated: Translated | None = None,
    signals: Iterable[int] = CTRL_C,
    processes: Processes | None = None,
) -> TrainingState:
    """Train a model to the end of the recipe: the loop beneath ``train``, for models and batches of your own.

    Args:
        folder: where checkpoints go: at the end, at one of the ``signals``, after every ``save_every`` epochs, and after
            every ``save_every_steps`` steps. None saves none.
        found: what the folder held when it was looked at (``destination.contents``), None: now. A save refuses a checkpoint
            that has come there since.
        vocabularies: source and target, for the checkpoint.
        resume: a training checkpoint; the model is put into its state, and what follows is bit for bit what
            would have followed without the interruption.
        data: what trainer.json is to say of the corpus.
        validation: batches whose loss is measured after every epoch or every ``validate_every_steps``, and at the end. With
            the recipe's ``keep`` as ``best`` the model and the checkpoint are those of the best validation in the end, and the
            checkpoint holds beside it what a resume needs.
        translated: pairs that are translated and scored each time, where the recipe says so.
        signals: what ends the training after the step in progress, with a checkpoint: Ctrl-C alone (``signal.SIGINT``), since
            other signals are the program's own. They are taken in the main thread, and where they have no other handler.
        processes: those that train together, every one of which calls this with the same model, batches and recipe
            (``distributed``); the first of them alone saves. None: this one alone.
    Returns: the history of losses, and how fast it went.
    Raises:
        TrainingInterrupted: after such a signal, when the checkpoint is saved. NotFiniteError: a loss or a weight is NaN or
            infinite; the last checkpoint stays. CheckpointError: the folder holds vocabularies, but none are given; or
            what ``found`` refuses.
            DistributedError: another process has ended, or does not hold the same weights.
    """
    progress = progress or Progress()
    processes = processes or Alone()
    trainer = backend.trainer(model, **recipe.trainer_options())
    state = TrainingState() if resume is None else restored(backend, model, recipe, resume)
    if resume is not None:
        state.check_fits(len(batches), recipe.accumulate)
    place = None if folder is None else Path(folder)
    check_validation(model.config, recipe, validation is not None, resume)
    if place is not None:
        check_nothing_lost(place, vocabularies=vocabularies is not None, training=True)
        found = contents(place) if found is None else found
    if not recipe.translates:
        translated = None
    elif translated is None:
        raise ConfigError("A validation by BLEU and chrF needs pairs and vocabularies (translated), got none.")
    else:
        translated = translated._replace(pairs=translated.pairs[: recipe.validation_lines])
    state.validation_metric = recipe.validation_metric
    kept = KeptWeights(recipe, state, resume)
    total = recipe.schedule_steps or recipe.total_steps(len(batches))
    span = Span(recipe.warmup_steps, total, model.config.num_hiddens)

    def write() -> None:
        nonlocal found
        current, best = backend.get_weights(trainer.gathered()), kept.better_than_current(state)
        check_finite(backend, model, current, next(batches.epoch(0)), state)
        if place is not None:
            checkpoint = Checkpoint(
                config=model.config,
                weights=current if best is None else best,
                source_vocabulary=vocabularies[0] if vocabularies else None,
                target_vocabulary=vocabularies[1] if vocabularies else None,
                optimizer=trainer.state_dict(),
                trainer={**state.to_dict(), "recipe": recipe.to_dict(), "data": dict(data or {}), SAVE: (saved := uuid4().hex)},
                last=None if best is None else current,
                kept=kept.beside(),
            )
            agreement.by_rank_0(lambda: write_checkpoint(place, checkpoint, partial(check_as_found, found=found or "")))
            found = saved
            progress.saved(place, state)

    # Numbers that are not finite are looked for here; NumPy would print warnings with paths before that.
    with (
        np.errstate(all="ignore"),
        Interruption(progress.interrupted, signals) as interruption,
        told_of_processes(processes, state),
    ):
        agreement = Agreement(processes, lambda: backend.get_weights(model), interruption)
        agreement.begin(state, {"recipe": recipe.to_dict(), "config": model.config.to_dict(), "data": dict(data or {})})
        trainer.join(processes)
        if resume is not None and resume.optimizer is not None:
            trainer.load_state_dict(resume.optimizer)
        pauses = [every for every in (save_every_steps, recipe.validate_every_steps, recipe.max_steps) if every]
        while not state.is_finished(recipe):
            span = span._replace(lowered=recipe.plateau_factor ** len(state.lowered))
            run_epoch(trainer, batches, recipe, span, state, progress, agreement, pauses)
            ended, every = state.batch == len(batches), recipe.validate_every_steps
            due, over = ended if every is None else state.step % every == 0, recipe.is_over(state.epoch + ended, state.step)
            if validation is not None and (due or over):
                current = trainer.gathered()
                record = validate(backend, current, validation, translated, state, processes, recipe.validation_tokenize)
                state.validated(record, recipe, closing=not due)
                progress.validated(record)
                kept.measured(state, backend.get_weights(current))
            if ended:
                progress.epoch(state.end_epoch())
            if agreement.received is not None:
                write()
                raise TrainingInterrupted(place, state, agreement.received)
            epochs = save_every is not None and state.batch == 0 and state.epoch % save_every == 0
            steps = save_every_steps is not None and state.step % save_every_steps == 0
            if state.is_finished(recipe) or epochs or steps:
                write()
        trainer.gathered()
    if processes.rank == 0 and (
        nothing := without_bleu(state.validations, recipe.validation_metric, recipe.validation_tokenize)
    ):
        progress.warned(nothing)
    if (best := kept.better_than_current(state)) is not None:
        backend.set_weights(model, best)
    return state


def restored(backend: Backend, model: Any, recipe: TrainingRecipe, resume: Checkpoint) -> TrainingState:
    """The state of a training checkpoint, whose weights the model gets."""
    state = state_of(resume)
    recipe.check_continues(recipe_of(resume))
    backend.set_weights(model, resume.weights if resume.last is None else resume.last)
    return state


def run_epoch(
    trainer: Trainer,
    batches: EpochBatches,
    recipe: TrainingRecipe,
    span: Span,
    state: TrainingState,
    progress: Progress,
    agreement: Agreement,
    pauses: Iterable[int] = (),
) -> None:
    """The rest of the epoch that the state is in, or up to an interruption or a step that one of ``pauses`` divides; then
    all losses are read."""
    schedule = SCHEDULES[recipe.schedule]
    unread: list[tuple[Any, int]] = []
    start = perf_counter()
    before = state.loss_sum, state.tokens, start

    def read() -> None:
        nonlocal before
        agreement.read(unread, state)
        (loss, tokens, since), before = before, (state.loss_sum, state.tokens, perf_counter())
        if state.tokens > tokens:
            mean, speed = (state.loss_sum - loss) / (state.tokens - tokens), (state.tokens - tokens) / (before[2] - since)
            progress.reading(Reading(state.step, state.epoch + 1, mean, trainer.learning_rate, speed))

    stream = batches.epoch(state.epoch, state.batch)
    while together := list(islice(stream, recipe.accumulate)):
        trainer.learning_rate = recipe.learning_rate * schedule(state.step + 1, span)
        # With "tokens" a step's loss is a mean, which counts as often as it has tokens; with "steps" it is D2L's sum.
        num_tokens = sum(batch.num_tokens for batch in together)
        unread.append((trainer.accumulated_step(together), num_tokens if recipe.normalization == "tokens" else 1))
        state.step += 1
        state.batch += len(together)
        state.tokens += num_tokens
        if len(unread) == agreement.every:
            read()
        progress.step(state)
        if agreement.received is not None or any(state.step % every == 0 for every in pauses):
            break
    read()
    state.seconds += perf_counter() - start
