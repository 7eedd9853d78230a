"""How far two outputs lie apart, so that no number of any size hides another.

Each difference is divided by the scale of its place: the largest of the number itself, the medians of its position and of its
column, and the median of all, where a median is that of absolute values. Medians ignore the few that are huge (a logit of
-1e5, there to rule a token out); and what is tiny throughout is measured by its own size. The error is the root mean square
of a position or of a column, whichever is the largest.
"""

from __future__ import annotations

import numpy as np


def not_finite(array: np.ndarray) -> int:
    return int(np.size(array) - np.count_nonzero(np.isfinite(array)))


def error(got: np.ndarray, reference: np.ndarray) -> float:
    """Of finite arrays of one shape, whose last axis are the columns; NaN on either side gives NaN."""
    columns = reference.shape[-1]
    got, reference = (np.asarray(side, np.float64).reshape(-1, columns) for side in (got, reference))
    if not reference.size:
        return 0.0
    sizes = np.abs(reference)
    everywhere = np.median(sizes[sizes > 0]) if sizes.any() else 0.0
    scale = np.maximum(np.maximum(sizes, np.median(sizes, axis=0)), np.median(sizes, axis=1)[:, None])
    scale = np.maximum(scale, everywhere)
    difference = np.abs(got - reference)
    if not everywhere:
        return float("inf") if difference.any() else 0.0
    squares = (difference / scale) ** 2
    return float(np.sqrt(np.maximum(squares.mean(axis=0).max(), squares.mean(axis=1).max())))
