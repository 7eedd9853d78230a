"""A corpus as ids: read once as a stream, tokenized, and kept as two flat arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice
from typing import IO, Any, Protocol

import numpy as np

from ..errors import DataError
from ..printable import counted
from .bad_lines import BadLines
from .padding import FlatIds, Ids
from .vocabulary import Vocabulary

CHUNK = 10_000  # pairs that are in memory as text and lists at one time


class Corpus(Protocol):
    """Sentence pairs as text: ``Pairs`` or ``CorpusFiles``."""

    bad_lines: BadLines

    def __iter__(self) -> Iterator[tuple[str, str]]: ...


@dataclass(frozen=True)
class TokenizedCounts:
    """The counts of a corpus after it was tokenized.

    Attributes:
        pairs: of text; digest: SHA-256 of their text, by which a resumed training knows its corpus.
        untokenized: pairs left out, a side of theirs having no token; too_long: those with a longer side than was allowed.
        unknown: tokens of the source and of the target that the vocabulary lacks.
        bad_lines: what the reader counted (``data.bad_lines``).
    """

    pairs: int = 0
    digest: str = ""
    untokenized: int = 0
    too_long: int = 0
    unknown: tuple[int, ...] = (0, 0)
    bad_lines: dict[str, int] = field(default_factory=dict)


class TokenizedPairs:
    """(source ids, target ids), without bos and eos, as a sequence; ``Batches`` gathers from the flat arrays as they lie."""

    def __init__(self, sources: FlatIds, targets: FlatIds, counts: TokenizedCounts):
        self.sources, self.targets, self.counts = sources, targets, counts

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        return self.sources[number], self.targets[number]


class IdsWriter:
    """A side, written to two files as it comes: ids of the vocabulary's dtype, and int64 starts."""

    def __init__(self, ids: IO[bytes], starts: IO[bytes], vocabulary: Vocabulary):
        self.dtype = ids_dtype(vocabulary)
        self.unknown = 0
        self._ids, self._starts, self._unk_id, self._end = ids, starts, vocabulary.unk_id, 0
        starts.write(np.zeros(1, np.int64).tobytes())

    def write(self, sentences: Sequence[Ids]) -> None:
        ends = self._end + np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences)))
        if len(ends):
            ids = np.fromiter(chain.from_iterable(sentences), self.dtype, int(ends[-1]) - self._end)
            self._end = int(ends[-1])
            self.unknown += int(np.count_nonzero(ids == self._unk_id))
            self._ids.write(ids.tobytes())
            self._starts.write(ends.tobytes())


def ids_dtype(vocabulary: Vocabulary) -> np.dtype[Any]:
    return np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.uint32)


def tokenized(pairs: Corpus, vocabularies: tuple[Vocabulary, Vocabulary], longest: int | None = None) -> TokenizedPairs:
    """The ids in memory. ``longest``: pairs with a side of more tokens, what frames it counted, are left out.

    Raises DataError where none is left.
    """
    files = [(BytesIO(), BytesIO()) for _ in vocabularies]
    writers = [IdsWriter(*two, vocabulary) for two, vocabulary in zip(files, vocabularies, strict=True)]
    counts = write_tokens(pairs, vocabularies, writers, longest)
    sources, targets = (
        FlatIds(np.frombuffer(ids.getbuffer(), writer.dtype), np.frombuffer(starts.getbuffer(), np.int64))
        for (ids, starts), writer in zip(files, writers, strict=True)
    )
    return TokenizedPairs(sources, targets, counts)


def write_tokens(
    pairs: Corpus, vocabularies: tuple[Vocabulary, Vocabulary], writers: Sequence[IdsWriter], longest: int | None
) -> TokenizedCounts:
    """Tokenize a stream of pairs, some at a time."""
    digest = hashlib.sha256()
    number, untokenized, too_long = 0, 0, 0
    for chunk in _chunks(pairs):
        text = "\n".join(f"{source}\t{target}" for source, target in chunk)
        digest.update(f"\n{text}".encode() if number else text.encode())
        number += len(chunk)
        sides = [vocabulary.encode_all([pair[side] for pair in chunk]) for side, vocabulary in enumerate(vocabularies)]
        kept = [both for both in zip(*sides, strict=True) if both[0] and both[1]]
        untokenized += len(chunk) - len(kept)
        if longest is not None:
            rooms = [longest - vocabulary.around for vocabulary in vocabularies]
            within = [both for both in kept if all(len(one) <= room for one, room in zip(both, rooms, strict=True))]
            too_long += len(kept) - len(within)
            kept = within
        for side, writer in enumerate(writers):
            writer.write([both[side] for both in kept])
    if number == untokenized + too_long:
        kinds = {f"{untokenized:,} with a side of no token": untokenized}
        kinds[f"{too_long:,} with more than {counted(longest or 0, 'token')} (<eos> counted)"] = too_long
        left_out = ", ".join(words for words, count in kinds.items() if count)
        raise DataError(f"At least one pair must be left to learn from, but of {number} these were left out: {left_out}.")
    unknown = tuple(writer.unknown for writer in writers)
    return TokenizedCounts(number, digest.hexdigest(), untokenized, too_long, unknown, dict(pairs.bad_lines.counts))


def _chunks(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    rest = iter(pairs)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
