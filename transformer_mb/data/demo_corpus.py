"""The built-in corpus: English sentences and their French translations, made by ``demo_grammar`` on the spot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from .demo_grammar import sentence

MAX_TOKENS = 12
NUM_TEST = 400
NUM_TRAIN = 3200


def demo_sentences() -> Iterator[tuple[str, str]]:
    """Pairs without end (the grammar has far more than are ever wanted), none of them twice."""
    seen = set()
    for number in count():
        english, french = sentence(number)
        if english not in seen and max(len(english.split()), len(french.split())) <= MAX_TOKENS:
            seen.add(english)
            yield english, french


def demo_pairs() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(training pairs, test pairs), always the same.

    The test sentences are new combinations: each of their words occurs in training, no sentence of either language
    does.
    """
    pairs = list(islice(demo_sentences(), NUM_TEST + NUM_TRAIN))
    return pairs[NUM_TEST:], pairs[:NUM_TEST]
