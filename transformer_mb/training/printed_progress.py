"""The look of a training while it runs: a bar in a terminal, a few lines in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .progress import Progress, Reading
from .recipe import TrainingRecipe
from .records import EpochRecord, ValidationRecord
from .state import TrainingState

WIDE = 100  # columns of a terminal that has room for what was saved
NARROW = 60  # below, the bar and the time left would be cut for the speed, which the lines of epochs tell
LINES = 20  # where there is no terminal, about this many epochs get a line


class Lines(Progress):
    """Lines for some of the epochs, on standard error: one in every few, and the best until then once it is not outdone.

    ``within``: validations have lines of their own, since they come within epochs. ``by_steps``: the loss of training is D2L's
    mean over steps, and no figure to hold that of a validation against.
    """

    def __init__(self, epochs: int, within: bool = False, by_steps: bool = False):
        self.epochs, self.within, self.by_steps = epochs, within, by_steps
        self._measured: dict[int, ValidationRecord] = {}  # by epoch
        self._best: EpochRecord | None = None
        self._told = 0  # the last epoch with a line
        self.every = max(1, epochs // LINES)

    def validated(self, record: ValidationRecord) -> None:
        if self.within:
            self.tell(f"step {record.step:,}  {record.in_words()}")
        else:
            self._measured[record.epoch] = record

    def epoch(self, record: EpochRecord) -> None:
        if self._best is None or (record.validation_loss or 0.0) < (self._best.validation_loss or 0.0):
            self._best = record if record.validation_loss is not None else None
        elif self._best.epoch > self._told:
            self._tell_epoch(self._best)
        if record.epoch % self.every == 0 or record.epoch in (1, self.epochs):
            self._tell_epoch(record)

    def line_of(self, record: EpochRecord) -> str:
        validation, words = self._measured.get(record.epoch), "loss"
        if validation is None and record.validation_loss is not None:
            validation = ValidationRecord(0, record.epoch, record.validation_loss)
        measured = ""
        if validation is not None:
            words, by = ("loss by steps", " by tokens") if self.by_steps else ("loss", "")
            measured = f"{validation.in_words(by)}  "
        speed = f"{record.tokens_per_second:,.0f} tokens/s"
        return f"epoch {record.epoch}/{self.epochs}  {words} {record.loss:.4f}  {measured}{speed}"

    def _tell_epoch(self, record: EpochRecord) -> None:
        self.tell(self.line_of(record))
        self._told = record.epoch

    def interrupted(self) -> None:
        self.tell("Interrupted: this step is finished and saved first; a second interruption stops at once.")

    def warned(self, sentence: str) -> None:
        self.tell(f"Warning: {sentence}")

    def tell(self, text: str) -> None:
        # A terminal that has gone must not stop the work; nor must a signal that comes amid another line, which Python refuses.
        with suppress(OSError, RuntimeError):
            self.show(text)

    def show(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bar(Lines):
    """Lines, and under them a bar over all steps with the loss and speed of the last ones and the time left."""

    def __init__(self, lines: tuple[int, bool, bool], display: Any, task: Any):
        super().__init__(*lines)
        self.display, self.task = display, task

    def step(self, state: TrainingState) -> None:
        self.display.update(self.task, completed=state.step, description=f"epoch {state.epoch + 1}/{self.epochs}")

    def reading(self, reading: Reading) -> None:
        self.display.update(self.task, speed=f"loss {reading.loss:.4f}  {reading.tokens_per_second:,.0f} tokens/s")

    def show(self, text: str) -> None:
        self.display.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def saved(self, folder: Path, state: TrainingState) -> None:
        self.display.update(self.task, saved=f"saved at step {state.step:,}")


@contextmanager
def training_progress(recipe: TrainingRecipe, batches: int, done: int = 0, opening: str = "first steps") -> Iterator[Progress]:
    """``batches`` in an epoch, ``done`` steps before a resume; ``opening`` stands at the bar until the first step is done."""
    steps, by_steps = recipe.total_steps(batches), recipe.normalization == "steps"
    epochs = recipe.epochs or -(-steps * recipe.accumulate // batches)
    lines = epochs, recipe.validate_every_steps is not None, by_steps
    if not sys.stderr.isatty():
        yield Lines(*lines)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    console = Console(stderr=True)
    speed = [TextColumn("{task.fields[speed]}")] if console.width >= NARROW else []
    columns = [TextColumn("{task.description}"), BarColumn(None), *speed, TimeRemainingColumn()]
    if console.width >= WIDE:
        columns.append(TextColumn("{task.fields[saved]}"))
    with Display(*columns, console=console, expand=True) as display:
        task = display.add_task(opening, total=steps, completed=done, saved="", speed="")
        yield Bar(lines, display, task)
