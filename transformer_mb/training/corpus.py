"""What a training learns from, in numbers: how much of it the vocabularies and the widths let through."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..data import Vocabulary

Ids = Sequence[int]


@dataclass(frozen=True)
class SideCounts:
    """One side of a corpus.

    Attributes:
        vocabulary: tokens that the model knows, special ones included.
        words: tokens of the text; unknown: those of them that the vocabulary lacks.
        sentences; cut: those of them that are longer than the width, ``<eos>`` counted.
    """

    vocabulary: int
    words: int
    unknown: int
    sentences: int
    cut: int

    @property
    def unknown_share(self) -> float:
        return self.unknown / max(self.words, 1)

    @property
    def cut_share(self) -> float:
        return self.cut / max(self.sentences, 1)


@dataclass(frozen=True)
class CorpusCounts:
    """pairs: those that are trained on; skipped: lines left out, a side of theirs being blank; num_steps: where sentences
    are cut, None where none is; parameters: numbers that the model learns."""

    pairs: int
    skipped: int
    num_steps: int | None
    parameters: int
    source: SideCounts
    target: SideCounts

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def lines(self) -> Iterator[str]:
        """In words."""
        left_out = f" ({self.skipped:,} lines with a blank side were skipped)" if self.skipped else ""
        yield f"{self.pairs:,} pairs{left_out}; {self.parameters:,} parameters"
        for name, side in (("source", self.source), ("target", self.target)):
            unknown = f"{side.unknown_share:.1%} of {side.words:,} words unknown"
            cut = f"{side.cut_share:.1%} of sentences cut to {self.num_steps} tokens" if self.num_steps else "no sentence cut"
            yield f"{name}: vocabulary of {side.vocabulary:,}, {unknown}, {cut}"


def count_corpus(
    ids: Sequence[tuple[Ids, Ids]], vocabularies: tuple[Vocabulary, Vocabulary], num_steps: int | None, **known: Any
) -> CorpusCounts:
    """Count the encoded pairs; ``known``: the counts ``skipped`` and ``parameters``."""
    source, target = (
        _count_side([pair[side] for pair in ids], vocabulary, num_steps) for side, vocabulary in enumerate(vocabularies)
    )
    return CorpusCounts(pairs=len(ids), num_steps=num_steps, source=source, target=target, **known)


def _count_side(sentences: Sequence[Ids], vocabulary: Vocabulary, num_steps: int | None) -> SideCounts:
    return SideCounts(
        vocabulary=len(vocabulary),
        words=sum(map(len, sentences)),
        unknown=sum(list(sentence).count(vocabulary.unk_id) for sentence in sentences),
        sentences=len(sentences),
        cut=0 if num_steps is None else sum(len(sentence) + 1 > num_steps for sentence in sentences),
    )
