"""What the loop asks of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..batch import Batch


class EpochBatches(Protocol):
    """A corpus whose order is a function of the epoch alone (``data.Batches``)."""

    def __len__(self) -> int: ...
    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]: ...
