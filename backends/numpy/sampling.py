"""Drawing tokens: uniform numbers of a row's own, and which token of a step's probabilities such a number says."""

from __future__ import annotations

import numpy as np

from transformer_mb.decoding.sampling import Truncation


def uniforms(seeds: np.ndarray, steps: int) -> np.ndarray:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""
    return np.stack([np.random.default_rng(seed).random(steps, np.float32) for seed in seeds])


def drawn(logits: np.ndarray, uniform: np.ndarray, truncation: Truncation) -> np.ndarray:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    ids = np.argsort(-logits, axis=-1, kind="stable")  # of equal logits the lowest id first
    falling = np.take_along_axis(logits, ids, axis=-1)
    weights = np.exp((falling - falling[:, :1]) / truncation.temperature)
    weights[:, truncation.top_k :] = 0.0
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= truncation.top_p * weights.sum(axis=-1, keepdims=True)] = 0.0
    total = np.cumsum(weights, axis=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = np.minimum(place, (weights > 0.0).sum(axis=-1) - 1)
    return np.take_along_axis(ids, place[:, None], axis=-1)[:, 0]
