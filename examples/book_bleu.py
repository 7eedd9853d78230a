"""The book's BLEU: a brevity penalty times the n-gram precisions, each to the power of 1/2^n."""

from __future__ import annotations

import math
from collections import Counter


def book_bleu(prediction: str, label: str, k: int) -> float:
    """exp(min(0, 1 - len(label) / len(prediction))) * prod over n up to k of p_n ** (1 / 2 ** n), on words (D2L 9.7.6).

    The book divides by zero where the prediction has fewer than k words; here n goes no further than it has words, as in
    the book's later edition.
    """
    predicted, expected = prediction.split(" "), label.split(" ")
    score = math.exp(min(0.0, 1.0 - len(expected) / len(predicted)))
    for n in range(1, min(k, len(predicted)) + 1):
        found, wanted = _ngrams(predicted, n), _ngrams(expected, n)
        matches = sum((found & wanted).values())
        score *= (matches / (len(predicted) - n + 1)) ** (0.5**n)
    return score


def _ngrams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
