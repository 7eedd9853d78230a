"""What a search asks of a backend, step by step."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class BeamSession(Protocol):
    """A cached decoding of B * beam rows, those of one source next to each other."""

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Feed one token [rows]; returns the ``count`` best log-probabilities and their ids, [rows, count] each.

        The best come first, by their logits; of equal logits the lowest ids, inside the ``count`` and at its end.
        """
        ...

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        """The same step with all of its answer: [rows, V], -inf where a token is suppressed."""
        ...

    def reorder(self, rows: np.ndarray) -> None:
        """Row r continues from what was row ``rows[r]``."""
        ...

    def attention(self) -> np.ndarray:
        """[rows, S]: what the last step attended to, where the session was started for it.

        The last decoder block's cross-attention, its mean over the heads.
        """
        ...
