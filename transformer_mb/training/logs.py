"""A training's figures for programs: a file of JSON lines, and a folder for TensorBoard.

A training that is resumed goes on in both where its checkpoint was saved: what a training that was killed had written after
that comes once more.
"""

from __future__ import annotations

import importlib
import json
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from ..errors import ConfigError, DestinationError
from ..extras import install_command
from ..files.pipes import open_to_write
from ..files.staging import staged
from ..files.whole_file import check_apart, check_result_file, is_special, is_stream, write_whole
from .own_files import EVENTS, KEY, LOSS_BY, own_lines
from .progress import Progress, Reading
from .records import ValidationRecord

# Its EventFileWriter would import TensorFlow, where that is installed, beside the framework that trains.
RECORD_WRITER = "tensorboard.summary.writer.record_writer"


@dataclass(frozen=True, kw_only=True)
class LogPlaces:
    """``log`` and ``tensorboard``: where they go, or None. ``identity``: the training's id, which they hold.

    ``replace``: whether the user has said that another file at ``log`` may go; ``unmarked``: whether a log without an id may be
    this training's. ``notes``: what is not written, in words.
    """

    log: str | None = None
    tensorboard: str | None = None
    identity: str = ""
    replace: bool = False
    unmarked: bool = False
    notes: list[str] = field(default_factory=list)

    def named(self) -> dict[str, str]:
        """Return the places that are written, by the name of their option."""
        return {name: value for name in ("log", "tensorboard") if (value := getattr(self, name)) is not None}


class Logged(Progress):
    """Gives every reading and every validation to ``write`` as figures by name, None where one was not measured.

    The first error of the system, such as a full disk, goes to ``warn``, and ends the log: the training goes on without it.
    """

    def __init__(self, file: IO[Any], warn: Callable[[str], None]):
        self.file, self.warn = file, warn
        self.has_ended = False

    def write(self, step: int, epoch: int, figures: Mapping[str, float | None]) -> None:
        raise NotImplementedError

    def reading(self, reading: Reading) -> None:
        figures = reading._asdict()
        self._write(figures.pop("step"), figures.pop("epoch"), figures)

    def validated(self, record: ValidationRecord) -> None:
        finite = record.perplexity if math.isfinite(record.perplexity) else None  # JSON knows no infinity
        figures = {"loss": record.validation_loss, "perplexity": finite, "bleu": record.bleu, "chrf": record.chrf}
        self._write(record.step, record.epoch, {f"validation_{name}": value for name, value in figures.items()})

    def close(self) -> None:
        with self._attempt():
            self.file.close()

    def _write(self, step: int, epoch: int, figures: Mapping[str, float | None]) -> None:
        if not self.has_ended:
            with self._attempt():
                self.write(step, epoch, figures)

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self.has_ended:
                self.warn(f"{self.file.name} cannot be written to any more: {error.strerror}. The training goes on without it.")
            self.has_ended = True


class JsonLines(Logged):
    """A log of one JSON object per line, the first with the training's id, and what the loss of its readings is a mean over."""

    def __init__(self, file: IO[Any], warn: Callable[[str], None], first: Mapping[str, str]):
        super().__init__(file, warn)
        self._first = dict(first)

    def write(self, step: int, epoch: int, figures: Mapping[str, float | None]) -> None:
        measured = {name: value for name, value in figures.items() if value is not None}
        self.file.write(json.dumps({"step": step, "epoch": epoch, **measured, **self._first}) + "\n")
        self.file.flush()
        self._first.clear()


class TensorBoard(Logged):
    """Scalars in an event file of TensorBoard's own, written without TensorFlow."""

    def __init__(self, file: IO[bytes], warn: Callable[[str], None], step: int):
        from tensorboard.compat.proto import event_pb2, summary_pb2

        super().__init__(file, warn)
        self._records = importlib.import_module(RECORD_WRITER).RecordWriter(file)
        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
        with self._attempt():
            self._add(file_version="brain.Event:2")
            # TensorBoard leaves out what earlier files of the folder have from here on.
            self._add(step=step + 1, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))

    def _add(self, **fields: Any) -> None:
        self._records.write(self._event(wall_time=time.time(), **fields).SerializeToString())
        self._records.flush()

    def write(self, step: int, epoch: int, figures: Mapping[str, float | None]) -> None:
        scalars = [
            self._summary.Value(tag=name.replace("validation_", "validation/"), simple_value=value)
            for name, value in {"epoch": epoch, **figures}.items()
            if value is not None
        ]
        self._add(step=step, summary=self._summary(value=scalars))


def check_logs(log: str | None, tensorboard: str | None, *, replace: bool, never: Iterable[str | None]) -> None:
    """Find out before any work what is wrong with the places of the logs, or whether TensorBoard is not installed.

    ``replace``: whether a log that is there may be written again; ``never``: see ``check_result_file``. Raises OSError,
    DestinationError, ConfigError.
    """
    never = list(never)
    check_result_file(None if log is None else Path(log), replace, (*never, tensorboard))
    if tensorboard is not None:
        check_apart(Path(tensorboard), never)
        _check_folder(Path(tensorboard))
        try:
            importlib.import_module(RECORD_WRITER)
        except ImportError:
            raise ConfigError(f"tensorboard needs the package of that name: {install_command('log')}.") from None


def _check_folder(folder: Path) -> None:
    absolute = folder.absolute()
    there = next(place for place in (absolute, *absolute.parents) if place.exists())
    try:
        with staged(there):
            pass
    except OSError as error:
        raise ConfigError(
            f"tensorboard must be a folder that may be written to, got {folder}, but {there}: {error.strerror}."
        ) from None


@contextmanager
def opened_logs(
    places: LogPlaces, step: int, warn: Callable[[str], None] = warnings.warn, by: str = "tokens"
) -> Iterator[list[Progress]]:
    """Open the logs of a training that begins or goes on after ``step`` steps; ``by``: see TrainingRecipe.normalization.

    Raises OSError where one cannot begin, and DestinationError where another training has begun a log meanwhile.
    """
    with ExitStack() as files:
        logs: list[Logged] = []
        if places.log is not None:
            path = Path(places.log)
            first, kept = {KEY: places.identity, LOSS_BY: by}, _kept(path, step, places)
            if not is_special(path) and not is_stream(path):
                write_whole(path, "".join(kept))
            log = TextIOWrapper(open_to_write(path, "ab"), encoding="utf-8")
            logs.append(JsonLines(log, warn, {} if kept else first))
            files.callback(logs[-1].close)
        if places.tensorboard is not None:
            folder = Path(places.tensorboard)
            folder.mkdir(parents=True, exist_ok=True)
            # TensorBoard reads a folder's files in the order of their names.
            name = f"{EVENTS}{time.time_ns() // 1000:017d}.{places.identity}.{uuid4().hex[:8]}"
            logs.append(TensorBoard((folder / name).open("xb"), warn, step))
            files.callback(logs[-1].close)
        yield list(logs)


def _kept(path: Path, step: int, places: LogPlaces) -> list[str]:
    """The lines of this training's earlier log up to a step, the first with its id."""
    try:
        lines = [line for line in own_lines(path, places.identity, places.unmarked) if json.loads(line)["step"] <= step]
    except DestinationError:
        if not places.replace:
            raise
        return []
    if lines:
        lines[0] = json.dumps({**json.loads(lines[0]), KEY: places.identity}) + "\n"
    return lines
