"""Messages that all processes of a training exchange every few steps, and act upon at the same step."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Any

import numpy as np

from ..distributed import Processes
from ..errors import DistributedError, NotFiniteError, TransformerMBError
from .interruption import Interruption
from .state import TrainingState

READ_EVERY = 32  # steps between two readings of the loss, each of which waits for the device
# Seconds between two agreements of several processes: who sends SIGTERM often kills half a minute later.
AGREE_WITHIN = 5.0
# Seconds in which the end of another process becomes known here, after a framework's own collective has failed for it.
KNOWN_WITHIN = 1.0
REMEDY = "A lower learning_rate, or clip_norm, may help."

Weights = Mapping[str, np.ndarray]


class Agreement:
    """The losses of the steps since the last agreement, and with them what every process knows alone.

    One process agrees with itself: it reads its losses every few steps, and a signal counts at once.

    Attributes:
        every: how many steps there are from one agreement to the next, the same number for all.
    """

    def __init__(self, processes: Processes, weights: Callable[[], Weights], interruption: Interruption):
        self.processes = processes
        self.every = READ_EVERY if processes.size == 1 else 1
        self._weights, self._interruption = weights, interruption
        self._agreed: int | None = None
        self._since = perf_counter()

    @property
    def received(self) -> int | None:
        """The signal that ends the training, when all processes know it."""
        return self._interruption.received if self.processes.size == 1 else self._agreed

    def begin(self, state: TrainingState, facts: Any) -> None:
        """Refuse processes that begin with another step, other facts (of recipe, model and data) or other weights."""
        if self.processes.size == 1:
            return
        described = zlib.crc32(json.dumps(facts, sort_keys=True, default=str).encode())
        table = self.processes.gather(np.array([state.step, described, digest(self._weights())], np.float64))
        for rank, row in enumerate(table):
            for column, name in enumerate(("step", "recipe, model and data", "weights")):
                if row[column] != table[0][column]:
                    raise DistributedError(
                        f"All processes must begin with the same {name}, but rank {rank} of {len(table)} has others than rank "
                        "0. The files and the folder of the checkpoint must be the same for all."
                    )
        self._since = perf_counter()

    def read(self, unread: list[tuple[Any, int]], state: TrainingState) -> None:
        """Add the losses to the epoch's sum, waiting for the device, and forget them. Raises NotFiniteError."""
        shares = [float(loss) for loss, _ in unread]
        bad: list[int] = []
        if self.processes.size > 1 and shares:
            shares, bad = self._exchanged(shares, state)
        for share, (_, weight) in zip(shares, unread, strict=True):
            state.loss_sum += share * weight
        unread.clear()
        check_loss(state.loss_sum, state, f"; on rank {bad[0]} of {self.processes.size}" if bad else "")

    def _exchanged(self, shares: list[float], state: TrainingState) -> tuple[list[float], list[int]]:
        """The losses of the whole batches, and the ranks where a share was the first that is no number."""
        finite = next((step for step, share in enumerate(shares) if not math.isfinite(share)), len(shares))
        table = np.zeros((self.processes.size, 4))
        # Of weights in parts each process has others.
        weights = 0 if self.processes.sharded else digest(self._weights())
        table[self.processes.rank] = self._interruption.received or 0, weights, finite, self._next(len(shares))
        numbers = self.processes.sum(np.array([*shares, *table.reshape(-1)], np.float64))
        table = numbers[len(shares) :].reshape(table.shape)
        signals, digests, finite_steps, every = table.T
        bad = [rank for rank, steps in enumerate(finite_steps) if steps == min(finite_steps) < len(shares)]
        if not bad and (others := np.flatnonzero(digests != digests[0])).size:
            raise DistributedError(
                f"All processes must hold the same weights, but after step {state.step} rank {others[0]} of {len(table)} "
                "holds others than rank 0. The processors and the versions of the framework must be alike."
            )
        self._agreed = next((int(number) for number in signals if number), None)
        self.every = int(every[0])
        return numbers[: len(shares)].tolist(), bad

    def _next(self, steps: int) -> int:
        now = perf_counter()
        seconds, self._since = max(now - self._since, 1e-9) / steps, now
        return max(1, min(READ_EVERY, int(AGREE_WITHIN / seconds)))

    def by_rank_0(self, work: Callable[[], None]) -> None:
        """Have one process do it while the others wait; what it raises, ends all."""
        failed: Exception | None = None
        if self.processes.rank == 0:
            try:
                work()
            except Exception as error:
                if self.processes.size == 1:
                    raise
                failed = error
        if self.processes.size > 1 and self.processes.sum(np.array([failed is not None], np.float64))[0]:
            raise failed or DistributedError(f"Rank 0 of {self.processes.size} could not save the checkpoint.")
        self._since = perf_counter()


@contextmanager
def told_of_processes(processes: Processes, state: TrainingState) -> Iterator[None]:
    """Inside, what a framework raises when another process has ended or stands still becomes a DistributedError."""
    try:
        yield
    except TransformerMBError:
        raise
    except Exception as error:
        end = perf_counter() + KNOWN_WITHIN
        while not (lost := processes.lost or processes.blamed(error)) and processes.size > 1 and perf_counter() < end:
            sleep(0.05)
        if not lost:
            raise
        processes.leave(lost=True)
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise DistributedError(
            f"{str(processes).capitalize()} cannot go on after step {state.step}: {lost} ({reason})."
        ) from error
    finally:
        processes.leave()


def digest(weights: Weights) -> int:
    """32 bits that differ where a bit of the weights does.

    The norm of the summed gradient would not tell: it is the same for all, whatever weights each of them has.
    """
    value = 0
    for name in weights:
        value = zlib.crc32(np.ascontiguousarray(weights[name]).tobytes(), value)
    return value


def check_loss(loss: float, state: TrainingState, where: str = "") -> None:
    if not math.isfinite(loss):
        raise NotFiniteError(
            f"The loss is no longer a number (epoch {state.epoch + 1}, before step {state.step + 1}{where}). {REMEDY}"
        )
