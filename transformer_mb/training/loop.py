"""The training loop, written once: a backend's trainer takes the steps, and all that is around them is here."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..backend import Backend
from ..checkpoint import Checkpoint, check_nothing_lost, write_checkpoint
from ..data.vocabulary import Vocabulary
from ..errors import CheckpointError, NotFiniteError
from ..trainer import Trainer
from .batches import EpochBatches
from .begun import recipe_of
from .interruption import CTRL_C, Interruption
from .progress import Progress
from .recipe import TrainingRecipe
from .schedules import SCHEDULES, Span
from .state import TrainingState
from .validation import REMEDY, KeptWeights, check_finite, check_validation, mean_loss

READ_EVERY = 32  # steps between two readings of the loss, each of which waits for the device


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
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    resume: Checkpoint | None = None,
    save_every: int | None = None,
    save_every_steps: int | None = None,
    data: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    validation: EpochBatches | None = None,
    signals: Iterable[int] = CTRL_C,
) -> TrainingState:
    """Train a model to the end of the recipe: the loop beneath ``train``, for models and batches of your own.

    Args:
        folder: where checkpoints go: at the end, at one of the ``signals``, after every ``save_every`` epochs, and after
            every ``save_every_steps`` steps. None saves none.
        vocabularies: source and target, for the checkpoint.
        resume: a training checkpoint; the model is put into its state, and what follows is bit for bit what
            would have followed without the interruption.
        data: what trainer.json is to say of the corpus.
        validation: batches whose loss is measured after every epoch. With the recipe's ``keep`` as ``best`` the model and
            the checkpoint are those of the best epoch in the end, and the checkpoint holds beside it what a resume needs.
        signals: what ends the training after the step in progress, with a checkpoint: Ctrl-C alone (``signal.SIGINT``), since
            other signals are the program's own. They are taken in the main thread, and where they have no other handler.
    Returns: the history of losses, and how fast it went.
    Raises:
        TrainingInterrupted: after such a signal, when the checkpoint is saved. NotFiniteError: a loss or a weight is NaN or
            infinite; the last checkpoint stays. CheckpointError: the folder holds vocabularies, but none are given.
    """
    progress = progress or Progress()
    trainer = backend.trainer(model, **recipe.trainer_options())
    state = TrainingState() if resume is None else restore(backend, model, trainer, recipe, resume)
    place = None if folder is None else Path(folder)
    check_validation(model.config, recipe, validation is not None, resume)
    if place is not None:
        check_nothing_lost(place, vocabularies=vocabularies is not None, training=True)
    kept = KeptWeights(recipe.keep, state, resume)
    span = Span(recipe.warmup_steps, recipe.epochs * len(batches), model.config.num_hiddens)

    def write() -> None:
        current, best = backend.get_weights(model), kept.better_than_current(state)
        check_finite(backend, model, current, next(batches.epoch(0)), state)
        if place is not None:
            write_checkpoint(
                place,
                Checkpoint(
                    config=model.config,
                    weights=current if best is None else best,
                    source_vocabulary=vocabularies[0] if vocabularies else None,
                    target_vocabulary=vocabularies[1] if vocabularies else None,
                    optimizer=trainer.state_dict(),
                    trainer={**state.to_dict(), "recipe": recipe.to_dict(), "data": dict(data or {})},
                    last=None if best is None else current,
                ),
            )
            progress.saved(place, state)

    # Numbers that are not finite are looked for here; NumPy would print warnings with paths before that.
    with np.errstate(all="ignore"), Interruption(progress.interrupted, signals) as interruption:
        while not state.is_finished(recipe.epochs, recipe.early_stopping):
            run_epoch(trainer, batches, recipe, span, state, progress, interruption, save_every_steps)
            if state.batch == len(batches):
                measured = None if validation is None else mean_loss(backend, model, validation)
                check_loss(measured or 0.0, state)
                progress.epoch(state.end_epoch(measured))
                if validation is not None:
                    kept.measured(state, backend.get_weights(model))
            if interruption.received is not None:
                write()
                raise TrainingInterrupted(place, state, interruption.received)
            epochs = save_every is not None and state.batch == 0 and state.epoch % save_every == 0
            steps = save_every_steps is not None and state.step % save_every_steps == 0
            if state.is_finished(recipe.epochs, recipe.early_stopping) or epochs or steps:
                write()
    if (best := kept.better_than_current(state)) is not None:
        backend.set_weights(model, best)
    return state


def restore(backend: Backend, model: Any, trainer: Trainer, recipe: TrainingRecipe, resume: Checkpoint) -> TrainingState:
    """Put a model and its trainer into the state of a training checkpoint."""
    if resume.trainer is None or resume.optimizer is None:
        raise CheckpointError("Only a training checkpoint can be resumed, but this one holds a model alone.")
    state = TrainingState.from_dict(resume.trainer)
    if state.step != int(resume.optimizer["step"]):
        raise CheckpointError(
            f"trainer.json and optimizer.safetensors must be of one step, got {state.step} and {int(resume.optimizer['step'])}."
        )
    recipe.check_continues(recipe_of(resume))
    backend.set_weights(model, resume.weights if resume.last is None else resume.last)
    trainer.load_state_dict(resume.optimizer)
    return state


def run_epoch(
    trainer: Trainer,
    batches: EpochBatches,
    recipe: TrainingRecipe,
    span: Span,
    state: TrainingState,
    progress: Progress,
    interruption: Interruption,
    save_every_steps: int | None = None,
) -> None:
    """The rest of the epoch that the state is in, or up to an interruption or a checkpoint; then all losses are read."""
    schedule = SCHEDULES[recipe.schedule]
    unread: list[tuple[Any, int]] = []
    start = perf_counter()
    for batch in batches.epoch(state.epoch, state.batch):
        trainer.learning_rate = recipe.learning_rate * schedule(state.step + 1, span)
        # With "tokens" a step's loss is a mean, which counts as often as it has tokens; with "steps" it is D2L's sum.
        num_tokens = batch.num_tokens
        unread.append((trainer.step(batch), num_tokens if recipe.normalization == "tokens" else 1))
        state.step += 1
        state.batch += 1
        state.tokens += num_tokens
        if len(unread) == READ_EVERY:
            read_losses(unread, state)
        progress.step(state)
        if interruption.requested or (save_every_steps and state.step % save_every_steps == 0):
            break
    read_losses(unread, state)
    state.seconds += perf_counter() - start


def read_losses(unread: list[tuple[Any, int]], state: TrainingState) -> None:
    """Add the losses to the epoch's sum, waiting for the device, and forget them."""
    for loss, weight in unread:
        state.loss_sum += float(loss) * weight
    unread.clear()
    check_loss(state.loss_sum, state)


def check_loss(loss: float, state: TrainingState) -> None:
    if not math.isfinite(loss):
        raise NotFiniteError(
            f"The loss is no longer a number (epoch {state.epoch + 1}, before step {state.step + 1}). {REMEDY}"
        )
