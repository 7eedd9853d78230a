"""Attention masks as NumPy arrays. True means: may attend."""

from __future__ import annotations

import numpy as np


def causal_mask(num_queries: int, num_keys: int) -> np.ndarray:
    """[T, S]: query t may attend to keys up to t + (S - T), S - T being what a cache already holds."""
    return np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
