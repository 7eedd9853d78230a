"""The batch that a trainer takes a step on, and what gives a training its batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np


class Batch(NamedTuple):
    """A padded batch of NumPy int64 arrays: sources and targets [B, steps], their valid lengths [B].

    ``target_in`` starts with the start token and ``target_out`` is what the decoder is to predict.
    """

    source: np.ndarray
    source_valid_lens: np.ndarray
    target_in: np.ndarray
    target_out: np.ndarray
    target_valid_lens: np.ndarray

    @property
    def num_tokens(self) -> int:
        return int(self.target_valid_lens.sum())


class EpochBatches(Protocol):
    """A corpus whose order is a function of the epoch alone (``data.Batches``)."""

    def __len__(self) -> int: ...
    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]: ...
