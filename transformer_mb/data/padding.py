"""Sentences of different lengths in one flat array, from which padded batches are gathered without a Python loop."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import chain
from numbers import Integral
from operator import index

import numpy as np

from ..config import check_sizes
from ..errors import ConfigError, TokenError
from ..fields import LARGEST

Ids = Sequence[int]

# Few widths, so that a compiled step is compiled few times; each at most half wider than the last, so that little is padding.
BUCKET_WIDTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


class Sentences:
    """Token ids with eos appended.

    Args:
        ids: one list a sentence, without bos and eos.
        limit: the longest sentence, eos included; ``truncate`` cuts longer ones (eos with them), else they are refused.
        what: what a message calls a sentence.
    Attributes:
        lengths: [N] valid lengths, eos included.
    """

    def __init__(
        self,
        ids: Sequence[Ids],
        eos_id: int,
        pad_id: int,
        limit: int | None = None,
        truncate: bool = False,
        what: str = "sentence",
    ):
        full = np.fromiter((len(sentence) + 1 for sentence in ids), np.int64, len(ids))
        if limit is not None and not truncate and full.max(initial=0) > limit:
            first = int((full > limit).argmax())
            raise TokenError(
                f"The {what} {first + 1} must be at most {limit} tokens long (<eos> counted), but it has {full[first]}; "
                f"{int((full > limit).sum())} of {len(full)} are too long. num_steps (--num-steps {limit}) cuts them."
            )
        self.lengths = full if limit is None else np.minimum(full, limit)
        self._starts = np.cumsum(full) - full
        tokens = chain.from_iterable((*sentence, eos_id) for sentence in ids)
        try:
            self._flat = np.fromiter(map(index, tokens), np.int64, int(full.sum()))  # an array would cut fractions off
        except (TypeError, OverflowError):
            raise _first_wrong(ids, what) from None
        if self._flat.min(initial=0) < min(0, eos_id):
            raise _first_wrong(ids, what)
        self._pad_id = pad_id

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, rows: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """The sentences ``rows`` [B] as ids [B, width], and their valid lengths [B]."""
        lengths, steps = self.lengths[rows], np.arange(width)
        if not len(rows):
            return np.zeros((0, width), np.int64), lengths
        positions = self._starts[rows][:, None] + steps  # [B, width]; past a sentence's end they point anywhere
        ids = self._flat.take(positions, mode="clip")
        return np.where(steps < lengths[:, None], ids, self._pad_id), lengths


def _first_wrong(ids: Sequence[Ids], what: str) -> TokenError:
    for number, sentence in enumerate(ids, start=1):
        for token in sentence:
            if not isinstance(token, Integral) or not 0 <= token < LARGEST:
                expected = "ids that are whole numbers of at least 0"
                return TokenError(f"The {what} {number} must hold {expected}, got {reprlib.repr(token)}.")
    return TokenError("eos_id must be a whole number.")


def padded_widths(lengths: np.ndarray, num_steps: int | None, bucket_widths: Sequence[int], max_len: int | None) -> np.ndarray:
    """The width to which each length is padded: ``num_steps``, or the smallest bucket that holds it.

    Past the last bucket the widths are its multiples; none is wider than ``max_len``, which the model could not take.
    """
    if num_steps is not None:
        return np.full(len(lengths), num_steps)
    table = np.unique(np.asarray(bucket_widths))
    if not table.size or table.dtype.kind not in "iu" or table[0] < 1:
        raise ConfigError(f"bucket_widths must be whole numbers of at least 1, got {bucket_widths!r}.")
    widest = table[-1]
    within = table[np.minimum(np.searchsorted(table, lengths), len(table) - 1)]
    widths = np.where(lengths <= widest, within, -(-lengths // widest) * widest)
    return widths if max_len is None else np.minimum(widths, max_len)


def check_limits(**limits: int | None) -> None:
    """Refuse what is no whole number from 1 on; None means that there is no such limit."""
    check_sizes(**{name: limit for name, limit in limits.items() if limit is not None})
