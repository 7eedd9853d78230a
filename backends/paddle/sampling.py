"""Drawing tokens: uniform numbers of a row's own, and which token of a step's probabilities such a number says."""

from __future__ import annotations

import numpy as np
import paddle
from paddle import Tensor

from transformer_mb.decoding.sampling import Truncation

from .dropout import kept_random_state


def uniforms(seeds: np.ndarray, steps: int) -> Tensor:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]; the caller's random numbers stay as they were."""
    rows = []
    with kept_random_state():
        for high, low in seeds.tolist():
            paddle.seed(high << 31 | low)
            rows.append(paddle.rand([steps], "float32"))
    return paddle.stack(rows)


def drawn(logits: Tensor, uniform: Tensor, truncation: Truncation) -> Tensor:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits if logits.dtype == paddle.float64 else logits.astype("float32")
    ids = paddle.argsort(logits, axis=-1, descending=True, stable=True)  # of equal logits the lowest id first
    falling = paddle.take_along_axis(logits, ids, -1)
    weights = paddle.exp((falling - falling[:, :1]) / truncation.temperature)
    weights = paddle.where(paddle.arange(weights.shape[-1]) < truncation.top_k, weights, paddle.zeros_like(weights))
    before = weights.cumsum(axis=-1) - weights
    kept = before < truncation.top_p * weights.sum(axis=-1, keepdim=True)
    weights = paddle.where(kept, weights, paddle.zeros_like(weights))
    total = weights.cumsum(axis=-1)
    place = (total <= uniform.astype(total.dtype)[:, None] * total[:, -1:]).astype("int64").sum(axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = paddle.minimum(place, (weights > 0.0).astype("int64").sum(axis=-1) - 1)
    return paddle.take_along_axis(ids, place[:, None], -1)[:, 0]
