"""Drawing tokens instead of taking the most probable: how a step's probabilities are cut, and what each row is drawn by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..call_checks import check_between
from ..config import check_count, check_sizes
from ..errors import ShapeError
from ..random_streams import stream

COLDEST, HOTTEST = 1e-3, 1e3
SMALLEST_SHARE = 1e-6  # the most probable token alone, in any vocabulary that there is


class Truncation(NamedTuple):
    """The values that a step's draw depends on beside its logits: numbers, or tensors in what is compiled."""

    temperature: Any
    top_k: Any
    top_p: Any


@dataclass(frozen=True)
class Sampling:
    """Drawing of each token by its probability: softmax(logits / temperature), cut and scaled to sum 1 again.

    Args:
        temperature: from 0.001 to 1000; below 1 the probable become more probable.
        top_k: only the k most probable tokens are drawn from (Fan et al. 2018); None: from all.
        top_p: of these only the fewest whose probabilities sum to at least p (Holtzman et al. 2020), from 0.000001 to 1.
        seed: the same seed, row number, backend, dtype and device give the same tokens, whatever else is in a batch.
    Of equally probable tokens those with the lowest ids are kept; ``suppress_ids`` are never drawn.
    Raises:
        ConfigError: naming the argument, what it must be and what was given.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_between("temperature", self.temperature, COLDEST, HOTTEST)
        if self.top_k is not None:
            check_sizes(top_k=self.top_k)
        check_between("top_p", self.top_p, SMALLEST_SHARE, 1.0)
        check_count("seed", self.seed)

    def truncation(self, vocab_size: int) -> Truncation:
        top_k = vocab_size if self.top_k is None else min(int(self.top_k), vocab_size)
        return Truncation(float(self.temperature), top_k, float(self.top_p))

    def seeds(self, rows: Any, batch: int) -> np.ndarray:
        """[B, 2] int64, each below 2**31: of each row by its number; None: they are numbered from 0."""
        numbers: Iterable[Any] = range(batch) if rows is None else list(rows)
        found = [stream(self.seed, "sample", int(number)).integers(0, 1 << 31, 2) for number in numbers]
        if len(found) != batch:
            raise ShapeError(f"rows must hold a number for each of {batch} rows, got {len(found)}.")
        return np.array(found)
