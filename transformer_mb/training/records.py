"""Records of an epoch and of a validation, which validation is better, and since how many none was."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class EpochRecord(NamedTuple):
    """The record of a finished epoch.

    loss: the recipe's, per target token. tokens: target tokens; seconds: of training alone.
    validation_loss: of the validation after its last step; None where there was none.
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


class ValidationRecord(NamedTuple):
    """The record of a validation, after ``step`` steps, in this epoch (from 1).

    validation_loss: cross-entropy per target token in nats, without dropout and label smoothing. bleu, chrf: of greedy
    translations, from 0 to 100; None where none were made.
    """

    step: int
    epoch: int
    validation_loss: float
    bleu: float | None = None
    chrf: float | None = None

    @property
    def perplexity(self) -> float:
        """exp(validation_loss)."""
        return perplexity(self.validation_loss)

    def in_words(self, by: str = "") -> str:
        """The figures in words; ``by``: by what the loss is a mean, with a space before it."""
        scores = "".join(
            f", {name} {value:.2f}" for name, value in (("BLEU", self.bleu), ("chrF", self.chrf)) if value is not None
        )
        return f"validation loss{by} {self.validation_loss:.4f}, perplexity {self.perplexity:.2f}{scores}"


def perplexity(loss: float) -> float:
    """Return the perplexity of a cross-entropy in nats per token; infinite where it is too large for a number."""
    return math.exp(loss) if loss < 700 else math.inf


METRICS = ("loss", "bleu", "chrf")  # what can say which of two validations is better
# Where the metric says nothing, these do, in this order: BLEU is 0 for long, while chrF and the loss get better.
ALSO = ("chrf", "loss", "bleu")
DIGITS = 2  # of BLEU and chrF: what prints alike is alike


def badness(record: ValidationRecord, metric: str, ties: bool = True) -> tuple[float, ...]:
    """Return numbers to compare validations by, lower ones being better; with ``ties`` other metrics decide among equals."""
    names = (metric, *(name for name in ALSO if name != metric)) if ties else (metric,)
    return tuple(_badness(record, name, ties) for name in names)


def _badness(record: ValidationRecord, name: str, rounded: bool) -> float:
    if name == "loss":
        return record.validation_loss
    score = getattr(record, name) or 0.0
    return -(round(score, DIGITS) if rounded else score)


def ranked(records: Iterable[ValidationRecord], metric: str, ties: bool = True) -> list[ValidationRecord]:
    """Sort validations, the best first. Of equal ones the latest comes first; without ``ties`` the earliest."""
    return sorted(records, key=lambda one: (badness(one, metric, ties), -one.step if ties else one.step))


def waited(records: Sequence[ValidationRecord], metric: str, ties: bool = True, after: int = 0) -> int:
    """Count the validations that were no new best, since the last that was one and since the step ``after``."""
    best = min(records, key=lambda one: (badness(one, metric, ties), one.step), default=None)
    return 0 if best is None else sum(one.step > max(best.step, after) for one in records)


def decided_by(records: Sequence[ValidationRecord], metric: str) -> str:
    """Say what told the best of ``records``, one at least, from others alike by the metric; empty where the metric did."""
    best, *others = ranked(records, metric)
    alike = [one for one in others if badness(one, metric)[0] == badness(best, metric)[0]]
    if not alike:
        return ""
    names = [name for name in ALSO if name != metric]
    shown = {"chrf": "chrF", "bleu": "BLEU", "loss": "the loss"}
    for place, name in enumerate(names, 1):
        if badness(alike[0], metric)[place] != badness(best, metric)[place]:
            return f"of {len(alike) + 1} with this {shown[metric].removeprefix('the ')} the best by {shown[name]}"
    return f"of {len(alike) + 1} that are alike the latest"


def without_bleu(records: Sequence[ValidationRecord], metric: str, tokenize: str) -> str:
    """A warning, where BLEU was to decide and never had anything to count; else empty."""
    if metric != "bleu" or not records or any(round(one.bleu or 0.0, DIGITS) for one in records):
        return ""
    count = f"all {len(records)} validations have" if len(records) > 1 else "the only validation has"
    return (
        f"BLEU decided nothing: {count} 0.00, for want of a sequence of four words that is right, so that chrF and the loss "
        "did. validation_metric chrf sees smaller differences; a validation_tokenize other than "
        f"{tokenize} may fit the language (such as zh, ja-mecab or char)."
    )
