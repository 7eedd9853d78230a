"""Counts of a training's corpus: how much of it the vocabularies and the widths let through."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data import TokenizedPairs, Vocabulary
from ..data.bad_lines import counts_in_words
from ..data.padding import FlatIds
from ..printable import counted, skipped_lines


@dataclass(frozen=True)
class SideCounts:
    """Counts of one side of a corpus.

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
    are cut, None where none is; parameters: numbers that the model learns; too_long: pairs dropped as longer than the model
    takes; bad_lines: other lines with something wrong by kind (``data.bad_lines``), and ``action``, what became of them."""

    pairs: int
    skipped: int
    num_steps: int | None
    parameters: int
    source: SideCounts
    target: SideCounts
    too_long: int = 0
    bad_lines: dict[str, int] = field(default_factory=dict)
    action: str = "stop"

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def lines(self) -> Iterator[str]:
        """Yield the counts in words."""
        left_out = f" ({skipped_lines(self.skipped)})" if self.skipped else ""
        yield f"{counted(self.pairs, 'pair')}{left_out}; {counted(self.parameters, 'parameter')}"
        yield from counts_in_words(self.bad_lines, self.action)
        if self.too_long:
            yield f"pairs longer than the model takes: {self.too_long:,} dropped"
        for name, side in (("source", self.source), ("target", self.target)):
            unknown = f"{side.unknown_share:.1%} of {counted(side.words, 'word')} unknown"
            cut = (
                f"{side.cut_share:.1%} of sentences cut to {counted(self.num_steps, 'token')}"
                if self.num_steps
                else "no sentence cut"
            )
            yield f"{name}: vocabulary of {side.vocabulary:,}, {unknown}, {cut}"


def count_corpus(
    pairs: TokenizedPairs, vocabularies: tuple[Vocabulary, Vocabulary], num_steps: int | None, parameters: int, action: str
) -> CorpusCounts:
    """The counts of an encoded corpus."""
    counts = pairs.counts
    source, target = (
        _count_side(ids, unknown, vocabulary, num_steps)
        for ids, unknown, vocabulary in zip((pairs.sources, pairs.targets), counts.unknown, vocabularies, strict=True)
    )
    bad_lines = {kind: count for kind, count in counts.bad_lines.items() if count and kind != "blank"}
    skipped = counts.untokenized + counts.bad_lines.get("blank", 0)
    return CorpusCounts(len(pairs), skipped, num_steps, parameters, source, target, counts.too_long, bad_lines, action)


def _count_side(ids: FlatIds, unknown: int, vocabulary: Vocabulary, num_steps: int | None) -> SideCounts:
    cut = 0 if num_steps is None else int(np.count_nonzero(ids.lengths + vocabulary.around > num_steps))
    return SideCounts(len(vocabulary), words=len(ids.ids), unknown=unknown, sentences=len(ids), cut=cut)
