"""Sentences that are too long for a training: named by their file and line, or left out where bad lines are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import BadLines, Pairs, TokenizedPairs, Vocabulary
from ..data.readers import Pair, numbered_pairs
from ..errors import DataError
from ..printable import counted
from ..training_options import FILES
from .corpus_source import CorpusSource, reading
from .recipe import TrainingRecipe

SIDES = ("source", "target")


@dataclass(frozen=True)
class Longest:
    """The most tokens of a sentence, <eos> counted, and the option that says so."""

    tokens: int
    option: str

    @classmethod
    def of(cls, recipe: TrainingRecipe, max_len: int, measured: bool = False) -> Longest | None:
        """Return the limit; None where longer sentences are cut, as those of a validation are to ``max_len``."""
        if recipe.num_steps is not None:
            return None
        if recipe.batch_tokens is not None and recipe.batch_tokens < max_len:
            return cls(recipe.batch_tokens, "batch_tokens")
        return None if measured else cls(max_len, "max_len")


def within_lengths(
    source: CorpusSource,
    vocabularies: tuple[Vocabulary, Vocabulary],
    recipe: TrainingRecipe,
    max_len: int,
    given: Pairs | None,
    data: Mapping[str, Any],
    measured: bool = False,
) -> TokenizedPairs:
    """The corpus as ids, or that of the validation. Raises DataError where a sentence is too long, and bad lines stop.

    ``given``: its pairs, or None where ``data`` names its files, in which the line is looked for.
    """
    longest = Longest.of(recipe, max_len, measured)
    ids = source.tokenized(vocabularies, None if longest is None else longest.tokens)
    sides = zip((ids.sources, ids.targets), vocabularies, strict=True)
    lengths = np.maximum(*(one.lengths + vocabulary.around for one, vocabulary in sides))
    if longest is None or lengths.max(initial=0) <= longest.tokens:
        return ids
    placed = _placed(given, data, FILES[2:] if measured else FILES[:2], None if measured else recipe.num_examples)
    place, side, count = next(_too_long(longest, vocabularies, placed))
    larger = f"a larger {longest.option}, " if longest.option == "batch_tokens" else ""
    wrong = int((lengths > longest.tokens).sum())
    shares = f"{wrong} of {counted(len(ids), 'pair')} {'is' if wrong == 1 else 'are'}"
    raise DataError(
        f"{place}: the {side} must be at most {longest.tokens} tokens long (<eos> counted, {longest.option}), but it has "
        f"{count}; {shares} too long. Remedies: {larger}num_steps "
        f"(--num-steps {longest.tokens}), which cuts them, or bad_lines drop (--bad-lines drop), which leaves them out."
    )


def _placed(
    given: Pairs | None, data: Mapping[str, Any], names: Sequence[str], num_examples: int | None
) -> Iterator[tuple[tuple[str, str], Pair]]:
    """Yield each pair with the place of its two sides."""
    if given is not None:
        kind = "" if names[0] == "source" else "validation "
        yield from ((((place := f"The {kind}pair {number}"), place), pair) for number, pair in enumerate(given, start=1))
        return
    paths = data[names[0]], data.get(names[1])
    how = {**reading(data), "num_examples": num_examples, "bad_lines": BadLines(data.get("bad_lines", "stop"))}
    for number, pair in numbered_pairs(*paths, **how):
        yield (f"{paths[0]}, line {number}", f"{paths[1] or paths[0]}, line {number}"), pair


def _too_long(
    longest: Longest, vocabularies: tuple[Vocabulary, Vocabulary], pairs: Iterator[tuple[tuple[str, str], Pair]]
) -> Iterator[tuple[str, str, int]]:
    for places, pair in pairs:
        for place, side, text, vocabulary in zip(places, SIDES, pair, vocabularies, strict=True):
            if (count := len(vocabulary.encode(text)) + vocabulary.around) > longest.tokens:
                yield place, side, count
