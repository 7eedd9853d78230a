"""Intervals of a median over few rounds, by the bootstrap: percentiles of the medians of rounds drawn with replacement."""

from __future__ import annotations

import numpy as np

COVERS, DRAWS, SEED = 0.95, 9999, 0


def interval(figures):
    """Return the two ends, the same for the same figures.

    Percentiles as they are: what BCa would correct them by is told by leaving rounds out one at a time, which a median hardly
    feels (Efron and Tibshirani 1993, section 11.5). Of five rounds they are the lowest and the highest.
    """
    figures = np.asarray(figures, float)
    drawn = np.random.default_rng(SEED).integers(0, len(figures), (DRAWS, len(figures)))
    medians = np.median(figures[drawn], axis=1)
    return tuple(map(float, np.quantile(medians, [(1 - COVERS) / 2, (1 + COVERS) / 2])))
