"""Padded batches of token ids: fixed widths as in D2L, or a few widths so that short sentences stay cheap."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..batch import Batch
from ..errors import ConfigError, DataError
from ..random_streams import stream
from .padding import BUCKET_WIDTHS, FlatIds, Frame, Ids, Sentences, batch_plan, check_limits, padded_widths
from .tokenizing import TokenizedPairs
from .vocabulary import Vocabulary

Result = TypeVar("Result")
SIDES = ("source", "target")


class EncodedPairs(NamedTuple):
    """A corpus as D2L's arrays: ids [N, num_steps] that end in eos and are padded, and valid lengths [N]."""

    source: np.ndarray
    source_valid_lens: np.ndarray
    target: np.ndarray
    target_valid_lens: np.ndarray


class SourceBatch(NamedTuple):
    """Sources to translate: ``indices`` [B] say which of the sentences the rows are."""

    indices: np.ndarray
    source: np.ndarray
    source_valid_lens: np.ndarray


def encode_pairs(
    pairs: Iterable[tuple[str, str]], source_vocabulary: Vocabulary, target_vocabulary: Vocabulary, num_steps: int
) -> EncodedPairs:
    """Encode pairs as D2L does (9.5.4): eos is appended, longer sentences than ``num_steps`` are cut, and shorter ones padded.

    A cut sentence loses its eos. A vocabulary with a frame has that around each text in place of eos, and it is never cut.
    """
    ids = pair_ids(pairs, source_vocabulary, target_vocabulary)
    rows = np.arange(len(ids))
    arrays: list[np.ndarray] = []
    for side, vocabulary in enumerate((source_vocabulary, target_vocabulary)):
        flat = FlatIds.from_lists([pair[side] for pair in ids])
        given = flat, vocabulary.eos_id, vocabulary.pad_id, num_steps, True
        arrays += Sentences(*given, frame=vocabulary.frame).padded(rows, num_steps)
    return EncodedPairs(*arrays)


def pair_ids(
    pairs: Iterable[tuple[str, str]], source_vocabulary: Vocabulary, target_vocabulary: Vocabulary
) -> list[tuple[list[int], list[int]]]:
    """Both sides of each pair of sentences as ids, without bos and eos."""
    return [(source_vocabulary.encode(source), target_vocabulary.encode(target)) for source, target in pairs]


class Batches:
    """A corpus cut into batches anew for each epoch, the order being a function of the seed and the epoch alone.

    Args:
        pairs: (source ids, target ids), without bos and eos; eos is appended to both. TokenizedPairs are not copied.
        batch_size: sentence pairs in a batch. batch_tokens, in its place: the most padded positions of one side, which are
            rows x width, both sides being padded to one width (fairseq's ``--max-tokens``, JoeyNMT's ``batch_type: token``).
        num_steps: the width of every batch, longer sentences being cut, as in D2L. None: sentences of similar
            length come together, padded to the smallest of ``bucket_widths`` that holds them.
        trimmed: each side of a batch is then as wide as its own longest sentence: less padding, but many shapes.
        max_len: the longest sentence, eos included, that the model takes; with ``truncate`` longer ones are cut.
        start_id: what ``target_in`` starts with (``config.start_id``); eos_id, pad_id: as in the configuration.
        shuffle: False keeps one order for every epoch, for measuring.
        frames: the ids before and after each source and each target, which stay whole where the text between them is cut;
            None for a side: eos after it.
    Raises:
        TokenError: a sentence longer than ``max_len``, or an id that is no whole number of at least 0. DataError: what is
            no pair, or a side of it without any token. ConfigError: an argument that cannot be.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Ids, Ids]] | TokenizedPairs,
        batch_size: int | None = None,
        seed: int = 0,
        *,
        batch_tokens: int | None = None,
        num_steps: int | None = None,
        bucket_widths: Sequence[int] = BUCKET_WIDTHS,
        max_len: int | None = None,
        truncate: bool = False,
        start_id: int = 2,
        eos_id: int = 3,
        pad_id: int = 1,
        shuffle: bool = True,
        trimmed: bool = False,
        frames: Sequence[Frame | None] = (None, None),
    ):
        check_limits(batch_size=batch_size, batch_tokens=batch_tokens, num_steps=num_steps, max_len=max_len)
        if (batch_size is None) == (batch_tokens is None):
            got = "neither" if batch_size is None else f"{batch_size} and {batch_tokens}"
            raise ConfigError(f"Either batch_size or batch_tokens must be given, got {got}.")
        if not len(pairs):
            raise ConfigError("Batches need at least one pair of sentences, got none.")
        if num_steps is not None and max_len is not None and num_steps > max_len:
            raise ConfigError(f"num_steps must be at most max_len = {max_len}, got {num_steps}.")
        limit, cut = (max_len, truncate) if num_steps is None else (num_steps, True)
        self.batch_size, self.batch_tokens = batch_size, batch_tokens
        self.seed, self.start_id, self.shuffle = seed, start_id, shuffle
        self.trimmed = trimmed and num_steps is None
        sides = (pairs.sources, pairs.targets) if isinstance(pairs, TokenizedPairs) else _sides(pairs)
        self._sources, self._targets = (
            Sentences(ids, eos_id, pad_id, limit, cut, f"{name} of pair", frame)
            for name, ids, frame in zip(SIDES, sides, frames, strict=True)
        )
        longest = np.maximum(self._sources.lengths, self._targets.lengths)
        widest = min((most for most in (max_len, batch_tokens) if most is not None), default=None)
        self._widths = padded_widths(longest, num_steps, bucket_widths, widest)
        self._ends, self._padded = batch_plan(self._widths, batch_size, batch_tokens)
        # Of one width, sentences of equal length come together; a fixed width mixes them all, as in D2L.
        self._by_length = num_steps is None

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._ends)

    def __repr__(self) -> str:
        rule = f"batch_size {self.batch_size}" if self.batch_tokens is None else f"batch_tokens {self.batch_tokens}"
        return f"Batches({len(self)} of {rule}, num_pairs {self.num_pairs}, num_tokens {self.num_tokens})"

    @property
    def num_pairs(self) -> int:
        return len(self._widths)

    @property
    def num_tokens(self) -> int:
        """Target tokens in an epoch, eos included and padding not."""
        return int(self._targets.lengths.sum(dtype=np.int64))

    @property
    def num_positions(self) -> int:
        """Positions of one side in an epoch, padding among them, before a batch is trimmed."""
        return int((np.diff(self._ends, prepend=0) * self._padded).sum())

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The different [B, width] of an epoch's batches before they are trimmed; they are the same in every epoch."""
        return sorted(set(zip(np.diff(self._ends, prepend=0).tolist(), self._padded.tolist(), strict=True)))

    def order(self, epoch: int) -> list[np.ndarray]:
        """Return the pairs that each batch of an epoch holds."""
        pairs, places = self._order(epoch)
        return [self._rows(pairs, place) for place in places]

    def _order(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """All pairs in the order of their widths, and the order in which their batches come."""
        generator = stream(self.seed, "batches", epoch)
        pairs = generator.permutation(self.num_pairs) if self.shuffle else np.arange(self.num_pairs)
        # Sorted after shuffling: sentences of equal length are mixed anew. One key after the other, the last being the first
        # to decide, takes less memory than np.lexsort.
        for key in (self._sources.lengths, self._targets.lengths, self._widths) if self._by_length else ():
            pairs = pairs[np.argsort(key[pairs], kind="stable")]
        places = np.arange(len(self))
        if self.shuffle and self._by_length:
            places = generator.permutation(len(self))
        return pairs, places

    def _rows(self, pairs: np.ndarray, place: int) -> np.ndarray:
        return pairs[self._ends[place - 1] if place else 0 : self._ends[place]]

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of one epoch, from batch number ``start`` on."""
        pairs, places = self._order(epoch)
        for place in places[start:].tolist():
            rows, width = self._rows(pairs, place), None if self.trimmed else int(self._padded[place])
            source, source_valid_lens = self._sources.padded(rows, width)
            target, target_valid_lens = self._targets.padded(rows, width)
            target_in = np.concatenate([np.full((len(rows), 1), self.start_id), target[:, :-1]], axis=1)
            yield Batch(source, source_valid_lens, target_in, target, target_valid_lens)


def _sides(pairs: Sequence[tuple[Ids, Ids]]) -> tuple[FlatIds, FlatIds]:
    for number, pair in enumerate(pairs, start=1):
        _check_pair(number, pair)
    sources, targets = (FlatIds.from_lists([pair[side] for pair in pairs], f"{SIDES[side]} of pair") for side in (0, 1))
    return sources, targets


def _check_pair(number: int, pair: Any) -> None:
    """Ids of both sides: lists, tuples or arrays."""
    sides = () if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") else tuple(pair)
    if len(sides) != 2 or not all(isinstance(side, Sequence | np.ndarray) for side in sides):
        raise DataError(f"Pair {number} must be (source ids, target ids), got {reprlib.repr(pair)}.")
    for name, side in zip(SIDES, sides, strict=True):
        if not len(side):
            raise DataError(f"The {name} of pair {number} must have at least one token, got none.")


def source_batches(
    ids: Sequence[Ids],
    vocabulary: Vocabulary,
    batch_size: int,
    *,
    num_steps: int | None = None,
    max_len: int | None = None,
    truncate: bool = False,
    bucket_widths: Sequence[int] = BUCKET_WIDTHS,
) -> list[SourceBatch]:
    """Sentences to translate as ids without what frames them (eos, of most vocabularies).

    The shortest come first, padded to ``num_steps`` or to one of a few widths.

    ``num_steps`` cuts longer sentences as D2L does; ``max_len`` refuses them with TokenError, or cuts with
    ``truncate``. ``restore_order`` puts what was made of the batches into the order of ``ids``.
    """
    check_limits(batch_size=batch_size, num_steps=num_steps, max_len=max_len)
    limit, cut = (max_len, truncate) if num_steps is None else (num_steps, True)
    given = FlatIds.from_lists(ids), vocabulary.eos_id, vocabulary.pad_id, limit, cut, "source sentence"
    sentences = Sentences(*given, vocabulary.frame)
    widths = padded_widths(sentences.lengths, num_steps, bucket_widths, max_len)
    order = np.argsort(sentences.lengths, kind="stable")
    chunks = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [SourceBatch(rows, *sentences.padded(rows, int(widths[rows].max()))) for rows in chunks]


def restore_order(batches: Sequence[SourceBatch], results: Iterable[Result]) -> list[Result]:
    """``results`` holds one item for each row of each batch in turn; returned in the order of the sentences."""
    indices = np.concatenate([batch.indices for batch in batches]).tolist() if batches else []
    return [result for _, result in sorted(zip(indices, results, strict=True), key=lambda item: item[0])]
