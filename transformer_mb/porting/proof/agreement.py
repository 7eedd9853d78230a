"""How far two outputs lie apart, so that no number of any size hides another.

Each difference is divided by the scale of its place: the largest of the number itself, the medians of its position and of its
column, and the median of all, where a median is that of absolute values. Medians ignore the few that are huge (a logit of
-1e5, there to rule a token out); and what is tiny throughout is measured by its own size. The error is the root mean square
over a sentence or over a column, whichever is the largest. (Not over a position: a normalisation of small variance multiplies
rounding errors by ten at some positions of any model, measured with MXNet's own arithmetic.)
"""

from __future__ import annotations

import numpy as np


def not_finite(array: np.ndarray) -> int:
    return int(np.size(array) - np.count_nonzero(np.isfinite(array)))


def error(got: np.ndarray, reference: np.ndarray, sentences: np.ndarray) -> float:
    """Of finite arrays [..., C]; ``sentences`` are the numbers of the sentences that the positions before C belong to."""
    columns = reference.shape[-1]
    got, reference = (np.asarray(side, np.float64).reshape(-1, columns) for side in (got, reference))
    if not reference.size:
        return 0.0
    sizes, difference = np.abs(reference), np.abs(got - reference)
    if not sizes.any():
        return float("inf") if difference.any() else 0.0
    scale = np.maximum(np.maximum(sizes, np.median(sizes, axis=0)), np.median(sizes, axis=1)[:, None])
    squares = (difference / np.maximum(scale, np.median(sizes[sizes > 0]))) ** 2
    by_sentence = [squares[sentences == number].mean() for number in np.unique(sentences)]
    return float(np.sqrt(np.max([*by_sentence, *squares.mean(axis=0)])))
