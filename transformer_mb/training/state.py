"""How far training is: what trainer.json holds, and what a resume continues from."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import CheckpointError


class EpochRecord(NamedTuple):
    """One finished epoch.

    loss: the recipe's, per target token. tokens: target tokens; seconds: of training alone.
    validation_loss: cross-entropy per target token in nats, without dropout and label smoothing; None without validation.
    """

    epoch: int
    loss: float
    tokens: int
    seconds: float
    validation_loss: float | None = None

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)

    @property
    def perplexity(self) -> float | None:
        """exp(validation_loss)."""
        return None if self.validation_loss is None else perplexity(self.validation_loss)


def perplexity(loss: float) -> float:
    """Of a cross-entropy in nats per token; infinite where it is too large for a number."""
    return math.exp(loss) if loss < 700 else math.inf


@dataclass
class TrainingState:
    """Where training stands.

    Attributes:
        epoch, batch: the next batch to train on; with the recipe's seed they give the data order.
        step: steps taken; with the seed it gives the dropout.
        loss_sum, tokens, seconds: of the epoch in progress.
        history: the finished epochs.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    history: list[EpochRecord] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """The last epoch's summed losses over its target tokens, as D2L counts; NaN before the first has ended."""
        return self.history[-1].loss if self.history else float("nan")

    @property
    def best(self) -> EpochRecord | None:
        """The epoch with the lowest validation loss, the first of several; None without validation."""
        measured = [record for record in self.history if record.validation_loss is not None]
        return min(measured, key=lambda record: record.validation_loss or 0.0, default=None)

    def is_finished(self, epochs: int, early_stopping: int | None) -> bool:
        return self.epoch >= epochs or self.is_stopped_early(early_stopping)

    def is_stopped_early(self, early_stopping: int | None) -> bool:
        """Whether the last so many epochs brought no lower validation loss."""
        best = self.best
        return early_stopping is not None and best is not None and self.epoch - best.epoch >= early_stopping

    @property
    def trained_tokens(self) -> int:
        """Target tokens of all of training."""
        return self.tokens + sum(record.tokens for record in self.history)

    @property
    def train_seconds(self) -> float:
        return self.seconds + sum(record.seconds for record in self.history)

    @property
    def tokens_per_second(self) -> float:
        """Over all of training, saving not counted."""
        return self.trained_tokens / max(self.train_seconds, 1e-9)

    def end_epoch(self, validation_loss: float | None = None) -> EpochRecord:
        record = EpochRecord(self.epoch + 1, self.loss_sum / self.tokens, self.tokens, self.seconds, validation_loss)
        self.history.append(record)
        self.epoch, self.batch = self.epoch + 1, 0
        self.loss_sum, self.tokens, self.seconds = 0.0, 0, 0.0
        return record

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "history": [record._asdict() for record in self.history]}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TrainingState:
        """Read what ``to_dict`` gave; raises CheckpointError for anything else. Further keys are not read."""
        values: dict[str, Any] = {}
        for item in dataclasses.fields(cls):
            if item.name != "history":
                values[item.name] = _number(fields, item.name, whole=item.type == "int")
        return cls(**values, history=_history(fields.get("history")))


def _history(rows: Any) -> list[EpochRecord]:
    *always, last = EpochRecord._fields
    for row in rows if isinstance(rows, list) else [None]:
        if not isinstance(row, dict) or not {*always} <= set(row) <= {*always, last}:
            raise CheckpointError(f"trainer.json must hold a history of rows with {', '.join(always)} and {last}.")
    return [_record(row) for row in rows]


def _record(row: dict[str, Any]) -> EpochRecord:
    measured = row.get("validation_loss")
    return EpochRecord(
        epoch=_number(row, "epoch", whole=True),
        loss=_number(row, "loss", whole=False),
        tokens=_number(row, "tokens", whole=True),
        seconds=_number(row, "seconds", whole=False),
        validation_loss=None if measured is None else _number(row, "validation_loss", whole=False),
    )


def _number(fields: dict[str, Any], name: str, whole: bool) -> Any:
    value = fields.get(name)
    right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool) and value >= 0
    if not right:
        expected = "a whole number" if whole else "a number"
        raise CheckpointError(f"trainer.json must hold {expected} of at least 0 as {name}, got {value!r}.")
    return value
