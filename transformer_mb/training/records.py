"""What a training measured of an epoch, and of a validation."""

from __future__ import annotations

import math
from typing import NamedTuple


class EpochRecord(NamedTuple):
    """One finished epoch.

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
    """One validation, after so many steps, in this epoch (from 1).

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

    def described(self, by: str = "") -> str:
        """The figures in words; ``by``: by what the loss is a mean, with a space before it."""
        scores = "".join(
            f", {name} {value:.2f}" for name, value in (("BLEU", self.bleu), ("chrF", self.chrf)) if value is not None
        )
        return f"validation loss{by} {self.validation_loss:.4f}, perplexity {self.perplexity:.2f}{scores}"


def perplexity(loss: float) -> float:
    """Of a cross-entropy in nats per token; infinite where it is too large for a number."""
    return math.exp(loss) if loss < 700 else math.inf
