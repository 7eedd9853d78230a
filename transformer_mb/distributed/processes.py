"""The contract of several processes that train one model, and the process that is alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Processes(ABC):
    """All processes of one training, seen from one of them.

    Every process makes the same calls in the same order. Every step is that of the whole batch: each process computes the
    gradient of its rows (``share``), and the update is made from the sum.

    Attributes:
        rank: which one this is, from 0; size: how many there are.
        devices: how many devices of this process take the rows of a batch between them.
        sharded: whether the weights and the optimizer's moments are kept in parts, one on each device.
    """

    devices = 1

    def __init__(self, rank: int, size: int, sharded: bool = False):
        self.rank, self.size, self.sharded = rank, size, sharded

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.size}"

    @property
    def lost(self) -> str:
        """Name the other process that is known to have ended; empty where none is."""
        return ""

    def blamed(self, error: Exception) -> str:
        """Name the other process that the framework itself blames for its error; empty where it blames none."""
        return ""

    @abstractmethod
    def sum(self, values: np.ndarray) -> np.ndarray:
        """A few float64 numbers, summed over all processes: the same bits for each of them. Raises DistributedError."""

    @abstractmethod
    def reduce(self, gradients: Any) -> Any:
        """The weighed gradients of a process's rows, as the framework has them, summed over all processes."""

    def gather(self, values: np.ndarray) -> np.ndarray:
        """[size, count] float64: the row of each process."""
        table = np.zeros((self.size, len(values)))
        table[self.rank] = values
        return self.sum(table.reshape(-1)).reshape(table.shape)

    def gather_text(self, text: str) -> list[str]:
        """The text of each process, for all of them."""
        own = np.frombuffer(text.encode(), np.uint8)
        lengths = self.gather(np.array([len(own)]))[:, 0].astype(int)
        padded = np.zeros(lengths.max())
        padded[: len(own)] = own
        rows = self.gather(padded).astype(np.uint8)
        return [row[:length].tobytes().decode() for row, length in zip(rows, lengths, strict=True)]

    def barrier(self) -> None:
        """Wait for all processes."""
        self.sum(np.zeros(1))

    @abstractmethod
    def expect(self) -> None:
        """A step begins: the next one, or the next ``sum``, must come within the time that the others have to answer."""

    @abstractmethod
    def leave(self, lost: bool = False) -> None:
        """Take the end of another process for no news from here on: this one ends too; soon, where it has ``lost`` another."""

    @abstractmethod
    def close(self) -> None:
        """Wait for all processes, and let go of them."""


class Alone(Processes):
    """A single process, which has the sum already."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1)

    def sum(self, values: np.ndarray) -> np.ndarray:
        return values

    def reduce(self, gradients: Any) -> Any:
        return gradients

    def expect(self) -> None:
        pass

    def leave(self, lost: bool = False) -> None:
        pass

    def close(self) -> None:
        pass
