"""Calls that the loop makes while it trains. The base class keeps silent."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..distributed import Place
from ..errors import ConfigError

if TYPE_CHECKING:
    from .records import EpochRecord, ValidationRecord
    from .state import TrainingState


class Reading(NamedTuple):
    """The steps since the last reading of the loss.

    step: the last of them; epoch: theirs, from 1. loss: the recipe's, per target token. learning_rate: of the last.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    tokens_per_second: float


class Progress:
    """The calls of a training; each method may be left out."""

    def step(self, state: TrainingState) -> None:
        """Hear of each step; the loss is not read yet, so that the device need not be waited for."""

    def reading(self, reading: Reading) -> None:
        """Hear that the losses of some steps were read."""

    def validated(self, record: ValidationRecord) -> None:
        """Hear of each validation, before ``epoch`` where it is one of an epoch's end."""

    def epoch(self, record: EpochRecord) -> None:
        """Hear of each finished epoch."""

    def saved(self, folder: Path, state: TrainingState) -> None:
        """Hear of each checkpoint."""

    def interrupted(self) -> None:
        """Hear of Ctrl-C, or another signal that ends the training, while the step in progress still runs."""

    def warned(self, sentence: str) -> None:
        """Hear that something failed which the training does not need, such as the writing of its log."""
        warnings.warn(sentence, stacklevel=2)


CALLS = ("step", "reading", "validated", "epoch", "saved", "interrupted", "warned")


class Together(Progress):
    """Calls several; a warning is said once, by the first."""

    def __init__(self, *others: Progress):
        for name in CALLS[:-1]:
            setattr(self, name, _calling([getattr(one, name) for one in others]))
        self.warned = others[0].warned  # type: ignore[method-assign]


def _calling(methods: Sequence[Callable[..., None]]) -> Callable[..., None]:
    def call(*facts: Any) -> None:
        for method in methods:
            method(*facts)

    return call


def check_called(place: Any, progress: Any, signals: Any) -> None:
    """Refuse what a training cannot ask or call; raises ConfigError."""
    if not (place is None or isinstance(place, Place)):
        raise ConfigError(f"place must be a distributed.Place, such as Place.from_environment(), got {place!r:.80}.")
    missing = [name for name in CALLS if not callable(getattr(progress, name, None))]
    if progress is not None and (missing or isinstance(progress, type)):
        raise ConfigError(f"progress must be a Progress, an object with {', '.join(CALLS)}, got {progress!r:.80}.")
    possible = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}  # of which no program hears
    if not isinstance(signals, tuple) or not all(isinstance(one, int) and one in possible for one in signals):
        raise ConfigError(
            f"signals must be signals that a program may catch, such as (signal.SIGINT, signal.SIGTERM), got {signals!r:.80}."
        )
