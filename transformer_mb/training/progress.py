"""What the loop tells while it trains. The base class keeps silent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .state import EpochRecord, TrainingState


class Progress:
    def step(self, state: TrainingState) -> None:
        """After each step; the loss is not read yet, so that the device need not be waited for."""

    def epoch(self, record: EpochRecord) -> None:
        """After each epoch."""

    def saved(self, folder: Path, state: TrainingState) -> None:
        """After each checkpoint."""

    def interrupted(self) -> None:
        """At Ctrl-C, or another signal that ends the training, while the step in progress still runs."""
