"""Variance and deviation in NumPy."""

from __future__ import annotations

import numpy as np

ABSENT = dict.fromkeys(("layer_norm", "layer_norm_cast", "layer_norm_of", "rms_norm"), "NumPy has no layers.")


def variance(X: np.ndarray) -> float:
    return float(X.var())


def deviation(X: np.ndarray) -> float:
    return float(X.std())
