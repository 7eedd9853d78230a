"""Attention masks as NumPy arrays. True means: may attend."""

from __future__ import annotations

import numpy as np


def valid_lens_mask(valid_lens: np.ndarray, num_keys: int) -> np.ndarray:
    """[B] -> [B, 1, S], or [B, T] -> [B, T, S]: True at the leading ``valid_lens`` keys of each query."""
    mask = np.arange(num_keys) < np.asarray(valid_lens)[..., None]
    return mask[:, None, :] if mask.ndim == 2 else mask


def causal_mask(num_queries: int, num_keys: int) -> np.ndarray:
    """[T, S]: query t may attend to keys up to t + (S - T), S - T being what a cache already holds."""
    return np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
