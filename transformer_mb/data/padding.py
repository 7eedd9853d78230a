"""Token ids in one flat array, and sentences of different lengths gathered from it into padded batches of a few widths."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import chain
from numbers import Integral
from operator import index

import numpy as np

from ..config import check_sizes, check_whole
from ..errors import ConfigError, TokenError
from ..fields import LARGEST

Ids = Sequence[int]
Frame = Sequence[Sequence[int]]  # two lists of ids, before and after a text


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


# Few widths, so that a compiled step is compiled few times; each at most half wider than the last, so that little is padding.
BUCKET_WIDTHS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


class Sentences:
    """Sentences with eos appended, or in their frame, from which padded batches are gathered.

    Args:
        ids: without bos and eos.
        limit: the longest sentence, eos or frame included; ``truncate`` cuts longer ones, else they are refused. The end of
            a text is cut off with its eos, as in D2L, or inside of its frame.
        what: what a message calls a sentence.
        frame: the ids before and after each sentence (see ``Vocabulary``); None: eos after it.
    Attributes:
        lengths: [N] int32 valid lengths, eos or frame included.
    """

    def __init__(
        self,
        ids: FlatIds,
        eos_id: int,
        pad_id: int,
        limit: int | None = None,
        truncate: bool = False,
        what: str = "sentence",
        frame: Frame | None = None,
    ):
        check_whole("eos_id", eos_id)
        self._opening, self._closing = frame or ((), (eos_id,))
        around = len(self._opening) + len(self._closing)
        full = ids.lengths + around
        if limit is not None and not truncate and full.max(initial=0) > limit:
            first = int((full > limit).argmax())
            raise TokenError(
                f"The {what} {first + 1} must be at most {limit} tokens long (<eos> counted), but it has {full[first]}; "
                f"{int((full > limit).sum())} of {len(full)} are too long. num_steps (--num-steps {limit}) cuts them."
            )
        if limit is not None and frame is not None and limit <= around:
            raise ConfigError(f"A {what} must be allowed more than the {around} tokens that frame it, got {limit}.")
        self.lengths = full if limit is None else np.minimum(full, limit)
        self._ids, self._pad_id, self._framed = ids, pad_id, frame is not None

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, rows: np.ndarray, width: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The sentences ``rows`` [B] as int64 ids [B, width], and their valid lengths [B]; None: as wide as the longest."""
        lengths = self.lengths[rows].astype(np.int64)
        steps = np.arange(lengths.max() if width is None else width)
        starts = self._ids.starts[rows]
        # Where the text ends in its row: a row that is cut ends in the middle of it, or in its frame.
        ends = (lengths - len(self._closing) if self._framed else self._ids.starts[rows + 1] - starts)[:, None]
        positions = starts[:, None] + steps - len(self._opening)  # [B, width]; outside of a text anything
        if self._ids.ids.size:
            ids = self._ids.ids.take(positions, mode="clip").astype(np.int64)
        else:
            ids = np.zeros(positions.shape, np.int64)
        ids[:, : len(self._opening)] = self._opening
        for place, token in enumerate(self._closing):
            ids[steps == ends + place] = token
        ids[steps >= lengths[:, None]] = self._pad_id
        return ids, lengths


def padded_widths(lengths: np.ndarray, num_steps: int | None, bucket_widths: Sequence[int], max_len: int | None) -> np.ndarray:
    """The width to which each length is padded: ``num_steps``, or the smallest bucket that holds it.

    Past the last bucket the widths are its multiples; none is wider than ``max_len``, which the model could not take, but for
    what is longer itself.
    """
    if num_steps is not None:
        return np.full(len(lengths), num_steps, np.min_scalar_type(num_steps))
    table = np.unique(np.asarray(bucket_widths))
    if not table.size or table.dtype.kind not in "iu" or table[0] < 1:
        raise ConfigError(f"bucket_widths must be whole numbers of at least 1, got {bucket_widths!r}.")
    widest = table[-1]
    within = table[np.minimum(np.searchsorted(table, lengths), len(table) - 1)]
    widths = np.where(lengths <= widest, within, -(-lengths // widest) * widest)
    widths = widths if max_len is None else np.minimum(widths, np.maximum(lengths, max_len))
    return widths.astype(np.min_scalar_type(widths.max(initial=0)))  # one for each pair of a corpus of millions


def check_limits(**limits: int | None) -> None:
    """Refuse what is no whole number from 1 on; None means that there is no such limit."""
    check_sizes(**{name: limit for name, limit in limits.items() if limit is not None})


def batch_plan(widths: np.ndarray, batch_size: int | None, batch_tokens: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Split sentences in the order of their widths into batches: the end of each batch, and its width.

    A batch has ``batch_size`` rows, or as many as keep rows x width at ``batch_tokens``, so that the rows follow from the
    width and shapes stay few. The last of a width that do not fill a batch go into the next width's: one batch at most is
    smaller than its width says. Raises ConfigError where not even one sentence of the widest is within ``batch_tokens``.
    """
    table, counts = np.unique(widths, return_counts=True)
    if batch_tokens is not None and table[-1] > batch_tokens:
        raise ConfigError(
            f"batch_tokens must be at least {table[-1]}, the longest sentence's padded width, got {batch_tokens}."
        )
    ends: list[int] = []
    padded: list[int] = []
    end = left = 0
    for width, count in zip(table.tolist(), counts.tolist(), strict=True):
        rows = batch_size or (batch_tokens or 0) // width
        full, left = divmod(left + count, rows)
        ends += range(end + rows, end + full * rows + 1, rows)
        padded += [width] * full
        end += full * rows
    if left:
        ends.append(end + left)
        padded.append(table[-1])
    return np.array(ends), np.array(padded)
