"""The state of a training: what trainer.json holds, and what a resume continues from."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from ..errors import CheckpointError
from .recipe import TrainingRecipe
from .records import METRICS, EpochRecord, ValidationRecord, ranked, waited

LARGEST = 1 << 53  # what a float still counts


@dataclass
class TrainingState:
    """The state of a training.

    Attributes:
        epoch, batch: the next batch to train on; with the recipe's seed they give the data order.
        step: steps taken; with the seed it gives the dropout.
        loss_sum, tokens, seconds: of the epoch in progress.
        history: the finished epochs; validations: all that was measured.
        validation_metric: of METRICS, by which one validation is better than another.
        closing: the steps of validations that are there because a training ended with them. One that goes on keeps them, and
            waits for a better one as if it had never ended.
        lowered: after which steps the schedule ``plateau`` lowered the learning rate.
        ties: whether validations that are alike by the metric are told apart by the other figures; a checkpoint that does not
            say so goes on as it began, and of equals the first is the best.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    history: list[EpochRecord] = field(default_factory=list)
    validations: list[ValidationRecord] = field(default_factory=list)
    validation_metric: str = "loss"
    closing: list[int] = field(default_factory=list)
    lowered: list[int] = field(default_factory=list)
    ties: bool = True

    @property
    def loss(self) -> float:
        """The last whole epoch's summed losses over its target tokens, as D2L counts; before the first has ended, so far."""
        if self.history:
            return self.history[-1].loss
        return self.loss_sum / self.tokens if self.tokens else math.nan

    @property
    def begun_epochs(self) -> int:
        return self.epoch + (self.batch > 0)

    @property
    def ranked(self) -> list[ValidationRecord]:
        """The validations, the best first; see ``ranking``."""
        return ranked(self.validations, self.validation_metric, self.ties)

    @property
    def best(self) -> ValidationRecord | None:
        """The best validation; None without any."""
        return next(iter(self.ranked), None)

    def is_finished(self, recipe: TrainingRecipe) -> bool:
        return recipe.is_over(self.epoch, self.step) or self.is_stopped_early(recipe.early_stopping)

    def is_stopped_early(self, early_stopping: int | None) -> bool:
        """Tell whether the last ``early_stopping`` validations were no better than one before them."""
        return early_stopping is not None and self.waited() >= early_stopping

    def waited(self, after: int = 0) -> int:
        """Count the validations, all but the closing ones, that were no new best, and came after this step."""
        regular = [one for one in self.validations if one.step not in self.closing]
        return waited(regular, self.validation_metric, self.ties, after)

    def validated(self, record: ValidationRecord, recipe: TrainingRecipe, closing: bool) -> None:
        """Add what was measured, and lower the rate where the schedule waits for it no longer."""
        self.validations.append(record)
        if closing:
            self.closing.append(record.step)
        elif recipe.schedule == "plateau" and self.waited(max(self.lowered, default=0)) >= recipe.plateau_patience:
            self.lowered.append(record.step)

    @property
    def trained_tokens(self) -> int:
        """Target tokens of all of training."""
        return self.tokens + sum(record.tokens for record in self.history)

    @property
    def train_seconds(self) -> float:
        return self.seconds + sum(record.seconds for record in self.history)

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second over all of training, saving not counted."""
        return self.trained_tokens / max(self.train_seconds, 1e-9)

    def end_epoch(self) -> EpochRecord:
        """End the epoch, after its validation, if there is one."""
        last = self.validations[-1] if self.validations else None
        measured = last.validation_loss if last is not None and last.step == self.step else None
        record = EpochRecord(self.epoch + 1, self.loss_sum / self.tokens, self.tokens, self.seconds, measured)
        self.history.append(record)
        self.epoch, self.batch = self.epoch + 1, 0
        self.loss_sum, self.tokens, self.seconds = 0.0, 0, 0.0
        return record

    def to_dict(self) -> dict[str, Any]:
        rows = {name: [record._asdict() for record in getattr(self, name)] for name in ("history", "validations")}
        return {**dataclasses.asdict(self), **rows}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TrainingState:
        """Read what ``to_dict`` gave; raises CheckpointError for anything else. Further keys are not read."""
        values: dict[str, Any] = {}
        for item in dataclasses.fields(cls):
            if item.type in ("int", "float"):
                values[item.name] = _number(fields, item.name, whole=item.type == "int")
        for name in ("closing", "lowered"):
            steps = fields.get(name, [])
            values[name] = [_number({name: step}, name, whole=True) for step in (steps if isinstance(steps, list) else [steps])]
        values["ties"] = fields.get("ties", False)
        if not isinstance(values["ties"], bool):
            raise CheckpointError(f"trainer.json must hold true or false as ties, got {values['ties']!r:.80}.")
        metric = fields.get("validation_metric", "loss")
        if metric not in METRICS:
            raise CheckpointError(
                f"trainer.json must name one of {', '.join(METRICS)} as validation_metric, got {metric!r:.80}."
            )
        state = cls(**values, history=_rows(EpochRecord, "history", fields.get("history")), validation_metric=metric)
        state.validations = _rows(ValidationRecord, "validations", fields.get("validations") or state._of_epochs())
        state._check_order()
        return state

    def _check_order(self) -> None:
        """Refuse what no training comes to, whatever its batches are."""
        steps, epochs = [record.step for record in self.validations], [row.epoch for row in self.history]
        wrong = {
            f"{self.epoch} finished epochs in order as history": len(epochs) != self.epoch or epochs != sorted(set(epochs)),
            f"validations of growing steps up to {self.step}": steps != sorted(set(steps)) or max(steps, default=0) > self.step,
            f"steps up to {self.step} as closing and lowered": max((*self.closing, *self.lowered), default=0) > self.step,
            "target tokens where there is a loss": bool(self.loss_sum) and not self.tokens,
        }
        for expected in (words for words, holds in wrong.items() if holds):
            raise CheckpointError(f"trainer.json must hold {expected}, got others.")

    def check_fits(self, batches: int, accumulate: int) -> None:
        """Refuse a place that no training with ``batches`` batches in an epoch comes to; raises CheckpointError."""
        if self.batch >= batches or self.batch % accumulate:
            raise CheckpointError(
                f"trainer.json must say a batch from 0 to {batches - 1}, of the {batches} of an epoch, got {self.batch}."
            )
        step = self.epoch * -(-batches // accumulate) + self.batch // accumulate
        if self.step != step:
            raise CheckpointError(
                f"trainer.json must say step {step} after {self.epoch} epochs and {self.batch} of {batches} batches, got "
                f"{self.step}."
            )

    def _of_epochs(self) -> list[dict[str, Any]]:
        """The validations of a checkpoint that tells only those of its epochs, each of which has as many steps."""
        steps = (self.step - self.batch) // max(self.epoch, 1)
        measured = [record for record in self.history if record.validation_loss is not None]
        return [{"step": one.epoch * steps, "epoch": one.epoch, "validation_loss": one.validation_loss} for one in measured]


def _rows(kind: Any, name: str, rows: Any) -> Any:
    """Records of one kind, of which those fields may be missing that have a default."""
    always, known = set(kind._fields) - set(kind._field_defaults), set(kind._fields)
    for row in rows if isinstance(rows, list) else [None]:
        if not isinstance(row, dict) or not always <= set(row) <= known:
            wanted = [one for one in kind._fields if one in always]
            more = ", ".join(kind._field_defaults)
            raise CheckpointError(f"trainer.json must hold rows with {', '.join(wanted)} and {more} as {name}.")
    return [kind(**{field: _value(kind, row, field) for field in row}) for row in rows]


def _value(kind: Any, row: dict[str, Any], name: str) -> Any:
    if row[name] is None and name in kind._field_defaults:
        return None
    return _number(row, name, whole=name in ("epoch", "step", "tokens"))


def _number(fields: dict[str, Any], name: str, whole: bool) -> Any:
    value = fields.get(name)
    right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool) and 0 <= value < LARGEST
    if not right:
        large = isinstance(value, int | float) and value >= LARGEST
        expected = f"a{' whole' if whole else ''} number of at least 0{' and below 2^53' if large else ''}"
        raise CheckpointError(f"trainer.json must hold {expected} as {name}, got {value!r:.80}.")
    return value
