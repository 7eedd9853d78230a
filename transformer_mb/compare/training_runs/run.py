"""What one training run is asked for, and what is measured of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SMOOTHED = 10  # steps whose mean loss is held against the threshold


@dataclass(frozen=True)
class Asked:
    """One run: ``own`` are the switches that are the framework's own, ``planted`` a difference on purpose."""

    seed: int
    own: frozenset[str] = frozenset()
    planted: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is measured of one run.

    Attributes:
        column: the label of its column; version: of the framework. own: the switches that were the framework's own.
        losses: of every step, per token. token_accuracy, bleu: on the held-out pairs.
        first_step: seconds, with whatever is compiled then; None where an earlier run had it compiled.
        tokens_per_second: target tokens, of the other steps. decoded_per_second: tokens of greedy decoding.
        peak_memory: bytes that the process has held at most so far. checkpoint: bytes of the saved model.
        user_seconds: processor time of the run.
    """

    column: str
    version: str
    seed: int
    own: tuple[str, ...]
    losses: tuple[float, ...]
    token_accuracy: float
    bleu: float
    first_step: float | None
    tokens_per_second: float
    decoded_per_second: float
    peak_memory: int
    checkpoint: int
    user_seconds: float

    @property
    def final_loss(self) -> float:
        """The mean over the last tenth of the steps."""
        return float(np.mean(self.losses[-max(1, len(self.losses) // 10) :]))

    @property
    def first_loss(self) -> float:
        return float(np.mean(self.losses[:SMOOTHED]))

    @property
    def mean_log_loss(self) -> float:
        return float(np.mean(np.log(self.losses)))

    def steps_to(self, threshold: float) -> int:
        """After how many steps the mean of the last ten losses is no more than this; one more than there are: never."""
        width = min(SMOOTHED, len(self.losses))
        smoothed = np.convolve(self.losses, np.full(width, 1.0 / width), mode="valid")
        reached = np.flatnonzero(smoothed <= threshold)
        return int(reached[0]) + width if len(reached) else len(self.losses) + 1

    def parts_from(self, other: Run, tolerance: float = 1e-3) -> int:
        """The first step whose losses differ by more than this share; one more than there are: never."""
        apart = np.flatnonzero(~np.isclose(self.losses, other.losses, rtol=tolerance, atol=0.0))
        return int(apart[0]) + 1 if len(apart) else len(self.losses) + 1

    def recorded(self, threshold: float) -> dict[str, Any]:
        """Everything but the losses of the single steps."""
        fields = {name: value for name, value in vars(self).items() if name != "losses"}
        measured = {name: measure(self, threshold) for name, measure in METRICS.items()}
        return {**fields, "own": list(self.own), **measured}


# What verdicts are given on.
METRICS = {
    "final loss": lambda run, threshold: run.final_loss,
    "mean log loss": lambda run, threshold: run.mean_log_loss,
    "steps to threshold": lambda run, threshold: float(run.steps_to(threshold)),
    "token accuracy": lambda run, threshold: run.token_accuracy,
    "BLEU": lambda run, threshold: run.bleu,
}
