"""One side of a corpus as one flat array of ids: in memory, or mapped from a file that is larger than memory."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import chain
from numbers import Integral
from operator import index

import numpy as np

from ..errors import TokenError
from ..fields import LARGEST

Ids = Sequence[int]


class FlatIds:
    """Sentences one after another, without bos and eos.

    Args:
        ids: [tokens] whole numbers of any width.
        starts: [N + 1] int64: sentence n is ``ids[starts[n] : starts[n + 1]]``.
    """

    def __init__(self, ids: np.ndarray, starts: np.ndarray):
        self.ids, self.starts = ids, starts

    @classmethod
    def from_lists(cls, lists: Sequence[Ids], what: str = "sentence") -> FlatIds:
        """``what``: how a message calls one of the lists. Raises TokenError for what is no whole number of at least 0."""
        starts = np.zeros(len(lists) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=starts[1:])
        try:
            # Not np.array, which would cut fractions off.
            ids = np.fromiter(map(index, chain.from_iterable(lists)), np.int64, int(starts[-1]))
        except (TypeError, OverflowError):
            raise _first_wrong(lists, what) from None
        if ids.min(initial=0) < 0:
            raise _first_wrong(lists, what)
        return cls(ids, starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> np.ndarray:
        return self.ids[self.starts[number] : self.starts[number + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """[N] int32."""
        return np.diff(self.starts).astype(np.int32)


def _first_wrong(lists: Sequence[Ids], what: str) -> TokenError:
    for number, sentence in enumerate(lists, start=1):
        for token in sentence:
            if not isinstance(token, Integral) or not 0 <= token < LARGEST:
                expected = "ids that are whole numbers of at least 0"
                return TokenError(f"The {what} {number} must hold {expected}, got {reprlib.repr(token)}.")
    return TokenError(f"The ids of each {what} must be whole numbers of at least 0.")
