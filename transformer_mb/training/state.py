"""How far training is: what trainer.json holds, and what a resume continues from."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import CheckpointError


class EpochRecord(NamedTuple):
    """One finished epoch: loss per target token, target tokens, and the seconds that training took."""

    epoch: int
    loss: float
    tokens: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)


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
    def train_seconds(self) -> float:
        return self.seconds + sum(record.seconds for record in self.history)

    @property
    def tokens_per_second(self) -> float:
        """Over all of training, saving not counted."""
        return (self.tokens + sum(record.tokens for record in self.history)) / max(self.train_seconds, 1e-9)

    def end_epoch(self) -> EpochRecord:
        record = EpochRecord(self.epoch + 1, self.loss_sum / self.tokens, self.tokens, self.seconds)
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
        names, rows = EpochRecord._fields, fields.get("history")
        if not isinstance(rows, list) or not all(isinstance(row, dict) and set(row) == set(names) for row in rows):
            raise CheckpointError(f"trainer.json must hold a history of rows with {', '.join(names)}.")
        history = [EpochRecord(*(_number(row, name, name in ("epoch", "tokens")) for name in names)) for row in rows]
        return cls(**values, history=history)


def _number(fields: dict[str, Any], name: str, whole: bool) -> Any:
    value = fields.get(name)
    right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool) and value >= 0
    if not right:
        expected = "a whole number" if whole else "a number"
        raise CheckpointError(f"trainer.json must hold {expected} of at least 0 as {name}, got {value!r}.")
    return value
