"""Padded batches of token ids: fixed widths as in D2L, or a few widths so that short sentences stay cheap."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import ConfigError, DataError
from ..random_streams import stream
from ..trainer import Batch
from .padding import BUCKET_WIDTHS, Ids, Sentences, check_limits, padded_widths
from .vocabulary import Vocabulary

Result = TypeVar("Result")


class EncodedPairs(NamedTuple):
    """A corpus as D2L's arrays: ids [N, num_steps] that end in eos and are padded, and valid lengths [N]."""

    source: np.ndarray
    source_valid_lens: np.ndarray
    target: np.ndarray
    target_valid_lens: np.ndarray


class SourceBatch(NamedTuple):
    """Sources to translate: ``indices`` [B] say which of the given sentences the rows are."""

    indices: np.ndarray
    source: np.ndarray
    source_valid_lens: np.ndarray


def encode_pairs(
    pairs: Iterable[tuple[str, str]], source_vocabulary: Vocabulary, target_vocabulary: Vocabulary, num_steps: int
) -> EncodedPairs:
    """D2L 9.5.4: eos is appended, what is longer than ``num_steps`` is cut (eos with it), the rest is padded."""
    ids = pair_ids(pairs, source_vocabulary, target_vocabulary)
    sources = Sentences([source for source, _ in ids], source_vocabulary.eos_id, source_vocabulary.pad_id, num_steps, True)
    targets = Sentences([target for _, target in ids], target_vocabulary.eos_id, target_vocabulary.pad_id, num_steps, True)
    rows = np.arange(len(ids))
    return EncodedPairs(*sources.padded(rows, num_steps), *targets.padded(rows, num_steps))


def pair_ids(
    pairs: Iterable[tuple[str, str]], source_vocabulary: Vocabulary, target_vocabulary: Vocabulary
) -> list[tuple[list[int], list[int]]]:
    """Both sides of each pair of sentences as ids, without bos and eos."""
    return [(source_vocabulary.encode(source), target_vocabulary.encode(target)) for source, target in pairs]


class Batches:
    """A corpus cut into batches anew for each epoch, the order being a function of the seed and the epoch alone.

    Args:
        pairs: (source ids, target ids), without bos and eos; eos is appended to both.
        num_steps: the width of every batch, longer sentences being cut, as in D2L. None: sentences of similar
            length come together, padded to the smallest of ``bucket_widths`` that holds them.
        max_len: the longest sentence, eos included, that the model takes; with ``truncate`` longer ones are cut.
        start_id: what ``target_in`` starts with (``config.start_id``); eos_id, pad_id: as in the configuration.
        shuffle: False keeps one order for every epoch, for measuring.
    Raises:
        TokenError: a sentence longer than ``max_len``, or an id that is no whole number of at least 0. DataError: what is
            no pair, or a side of it without any token. ConfigError: an argument that cannot be.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Ids, Ids]],
        batch_size: int,
        seed: int = 0,
        *,
        num_steps: int | None = None,
        bucket_widths: Sequence[int] = BUCKET_WIDTHS,
        max_len: int | None = None,
        truncate: bool = False,
        start_id: int = 2,
        eos_id: int = 3,
        pad_id: int = 1,
        shuffle: bool = True,
    ):
        check_limits(batch_size=batch_size, num_steps=num_steps, max_len=max_len)
        if not len(pairs):
            raise ConfigError("Batches need at least one pair of sentences, got none.")
        if num_steps is not None and max_len is not None and num_steps > max_len:
            raise ConfigError(f"num_steps must be at most max_len = {max_len}, got {num_steps}.")
        for number, pair in enumerate(pairs, start=1):
            _check_pair(number, pair)
        limit, cut = (max_len, truncate) if num_steps is None else (num_steps, True)
        self.batch_size, self.seed, self.start_id, self.shuffle = batch_size, seed, start_id, shuffle
        self._sources = Sentences([source for source, _ in pairs], eos_id, pad_id, limit, cut, "source of pair")
        self._targets = Sentences([target for _, target in pairs], eos_id, pad_id, limit, cut, "target of pair")
        longest = np.maximum(self._sources.lengths, self._targets.lengths)
        self._widths = padded_widths(longest, num_steps, bucket_widths, max_len)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return -(-len(self._widths) // self.batch_size)

    def __repr__(self) -> str:
        counts = f"{len(self)} of batch_size {self.batch_size}, num_pairs {self.num_pairs}, num_tokens {self.num_tokens}"
        return f"Batches({counts})"

    @property
    def num_pairs(self) -> int:
        return len(self._widths)

    @property
    def num_tokens(self) -> int:
        """Target tokens in an epoch, eos included and padding not."""
        return int(self._targets.lengths.sum())

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The different [B, width] of an epoch's batches; they are the same in every epoch."""
        return sorted({(len(rows), int(self._widths[rows].max())) for rows in self.order(0)})

    def order(self, epoch: int) -> list[np.ndarray]:
        """Which pairs each batch of an epoch holds."""
        generator = stream(self.seed, "batches", epoch)
        pairs = generator.permutation(self.num_pairs) if self.shuffle else np.arange(self.num_pairs)
        # Sorted by width after shuffling: each width's sentences are mixed anew, and the last of them that do not
        # fill a batch go into the next width's, so that one batch at most is smaller than the rest.
        pairs = pairs[np.argsort(self._widths[pairs], kind="stable")]
        batches = [pairs[start : start + self.batch_size] for start in range(0, self.num_pairs, self.batch_size)]
        if self.shuffle and self._widths[pairs[0]] != self._widths[pairs[-1]]:
            batches = [batches[position] for position in generator.permutation(len(batches))]
        return batches

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of one epoch, from batch number ``start`` on."""
        for rows in self.order(epoch)[start:]:
            width = int(self._widths[rows].max())
            source, source_valid_lens = self._sources.padded(rows, width)
            target, target_valid_lens = self._targets.padded(rows, width)
            target_in = np.concatenate([np.full((len(rows), 1), self.start_id), target[:, :-1]], axis=1)
            yield Batch(source, source_valid_lens, target_in, target, target_valid_lens)


def _check_pair(number: int, pair: Any) -> None:
    """Ids of both sides: lists, tuples or arrays."""
    sides = () if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") else tuple(pair)
    if len(sides) != 2 or not all(isinstance(side, Sequence | np.ndarray) for side in sides):
        raise DataError(f"Pair {number} must be (source ids, target ids), got {reprlib.repr(pair)}.")
    for name, side in zip(("source", "target"), sides, strict=True):
        if not len(side):
            raise DataError(f"The {name} of pair {number} must have at least one token, got none.")


def source_batches(
    token_lists: Sequence[Sequence[str]],
    vocabulary: Vocabulary,
    batch_size: int,
    *,
    num_steps: int | None = None,
    max_len: int | None = None,
    truncate: bool = False,
    bucket_widths: Sequence[int] = BUCKET_WIDTHS,
) -> list[SourceBatch]:
    """Sentences to translate, the shortest first, padded to ``num_steps`` or to one of a few widths.

    ``num_steps`` cuts longer sentences as D2L does; ``max_len`` refuses them with TokenError, or cuts with
    ``truncate``. ``restore_order`` puts what was made of the batches into the order of ``token_lists``.
    """
    check_limits(batch_size=batch_size, num_steps=num_steps, max_len=max_len)
    limit, cut = (max_len, truncate) if num_steps is None else (num_steps, True)
    ids = [vocabulary.ids(tokens) for tokens in token_lists]
    sentences = Sentences(ids, vocabulary.eos_id, vocabulary.pad_id, limit, cut, "source sentence")
    widths = padded_widths(sentences.lengths, num_steps, bucket_widths, max_len)
    order = np.argsort(sentences.lengths, kind="stable")
    chunks = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [SourceBatch(rows, *sentences.padded(rows, int(widths[rows].max()))) for rows in chunks]


def restore_order(batches: Sequence[SourceBatch], results: Iterable[Result]) -> list[Result]:
    """``results`` holds one item for each row of each batch in turn; returned in the order of the sentences."""
    indices = np.concatenate([batch.indices for batch in batches]).tolist() if batches else []
    return [result for _, result in sorted(zip(indices, results, strict=True), key=lambda item: item[0])]
