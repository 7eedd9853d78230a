"""Finds out from vocabularies whether the two sides of a corpus have been exchanged: nothing else knows the languages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from .vocabulary import Vocabulary

FIRST = 500  # pairs that are looked at
FEWER = 0.5  # the share of unknown words that is left where the sides are exchanged back
MANY = 0.4  # of the words are unknown as it is


def swapped_note(pairs: Iterable[tuple[str, str]], vocabularies: tuple[Vocabulary, Vocabulary]) -> str | None:
    """A sentence where most words are unknown, and would be known on the other side; None otherwise.

    Subwords know every text: of them nothing can be said.
    """
    source, target = vocabularies
    if source == target:
        return None
    looked_at = list(islice(pairs, FIRST))
    given, exchanged = _unknown(looked_at, source, target), _unknown(looked_at, target, source)
    if given < MANY or exchanged > FEWER * given:
        return None
    shares = f"{given:.0%} of the words are unknown, and {exchanged:.0%} would be with source and target exchanged"
    return f"the two sides seem to be swapped: {shares}"


def _unknown(pairs: list[tuple[str, str]], first: Vocabulary, second: Vocabulary) -> float:
    ids = [
        number == one.unk_id
        for pair in pairs
        for text, one in zip(pair, (first, second), strict=True)
        for number in one.encode(text)
    ]
    return sum(ids) / max(1, len(ids))
