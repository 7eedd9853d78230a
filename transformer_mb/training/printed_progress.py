"""How training looks while it runs: a bar in a terminal, a few lines in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .progress import Progress, Reading
from .state import EpochRecord, TrainingState, ValidationRecord

LINES = 20  # where there is no terminal, about this many epochs get a line


def described(record: EpochRecord, epochs: int, validation: ValidationRecord | None = None) -> str:
    if validation is None and record.validation_loss is not None:
        validation = ValidationRecord(0, record.epoch, record.validation_loss)
    measured = "" if validation is None else f"{validation.described()}  "
    return f"epoch {record.epoch}/{epochs}  loss {record.loss:.4f}  {measured}{record.tokens_per_second:,.0f} tokens/s"


class Lines(Progress):
    """Some of the epochs, one line each, on standard error: every so many, and the best until then once it is not outdone.

    ``within``: validations have lines of their own, since they come within epochs.
    """

    def __init__(self, epochs: int, within: bool = False):
        self.epochs, self.within = epochs, within
        self._measured: dict[int, ValidationRecord] = {}  # by epoch
        self._best: EpochRecord | None = None
        self._told = 0  # the last epoch with a line
        self.every = max(1, epochs // LINES)

    def validated(self, record: ValidationRecord) -> None:
        if self.within:
            self.tell(f"step {record.step:,}  {record.described()}")
        else:
            self._measured[record.epoch] = record

    def epoch(self, record: EpochRecord) -> None:
        if self._best is None or (record.validation_loss or 0.0) < (self._best.validation_loss or 0.0):
            self._best = record if record.validation_loss is not None else None
        elif self._best.epoch > self._told:
            self._tell_epoch(self._best)
        if record.epoch % self.every == 0 or record.epoch in (1, self.epochs):
            self._tell_epoch(record)

    def described(self, record: EpochRecord) -> str:
        return described(record, self.epochs, self._measured.get(record.epoch))

    def _tell_epoch(self, record: EpochRecord) -> None:
        self.tell(self.described(record))
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
    """A bar over all steps, with the last epoch's figures, the speed of the last steps and the time left beside it."""

    def __init__(self, epochs: int, within: bool, display: Any, task: Any):
        super().__init__(epochs, within)
        self.display, self.task = display, task

    def step(self, state: TrainingState) -> None:
        self.display.update(self.task, completed=state.step)

    def epoch(self, record: EpochRecord) -> None:
        self.display.update(self.task, description=self.described(record))

    def reading(self, reading: Reading) -> None:
        self.display.update(self.task, speed=f"loss {reading.loss:.4f}  {reading.tokens_per_second:,.0f} tokens/s")

    def show(self, text: str) -> None:
        self.display.console.print(text, markup=False, highlight=False)

    def saved(self, folder: Path, state: TrainingState) -> None:
        self.display.update(self.task, saved=f"saved at epoch {state.epoch}")


@contextmanager
def training_progress(epochs: int, steps: int, done: int = 0, within: bool = False) -> Iterator[Progress]:
    """``steps`` in all, ``done`` of them before a resume; ``within``: validations come within epochs."""
    if not sys.stderr.isatty():
        yield Lines(epochs, within)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    before = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}")
    columns = (*before, TimeRemainingColumn(), TextColumn("{task.fields[saved]}"))
    with Display(*columns, console=Console(stderr=True)) as display:
        task = display.add_task("first epoch", total=steps, completed=done, saved="", speed="")
        yield Bar(epochs, within, display, task)
