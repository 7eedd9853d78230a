"""Drawing tokens: uniform numbers of a row's own, and which token of a step's probabilities such a number says."""

from __future__ import annotations

import mxnet as mx
import numpy as np
from mxnet import np as mnp
from mxnet import npx

from transformer_mb.decoding.sampling import Truncation

from .weights import to_device


def uniforms(seeds: np.ndarray, steps: int, device: mx.Context) -> mnp.ndarray:
    """[B, steps] float32 below 1, each row by its own seed [B, 2].

    By NumPy: MXNet's one random state is the whole process's, cannot be put back, and takes a millisecond to seed.
    """
    return to_device(np.stack([np.random.default_rng(seed).random(steps, np.float32) for seed in seeds]), device)


def drawn(logits: mnp.ndarray, uniform: mnp.ndarray, truncation: Truncation) -> mnp.ndarray:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits if np.dtype(logits.dtype) == np.float64 else npx.cast(logits, dtype="float32")
    size = logits.shape[-1]
    falling = npx.topk(logits, k=size, ret_typ="value")
    weights = mnp.exp((falling - falling[:, :1]) / truncation.temperature)
    weights = weights * (mnp.arange(size, ctx=logits.ctx) < truncation.top_k)
    before = mnp.cumsum(weights, axis=1) - weights
    weights = weights * (before < truncation.top_p * weights.sum(axis=-1, keepdims=True))
    total = mnp.cumsum(weights, axis=1)
    place = _count(total <= uniform.astype(total.dtype)[:, None] * total[:, -1:])
    # Rounding may end the sum a little late, among tokens that were cut.
    place = mnp.minimum(place, _count(weights > 0.0) - 1)
    # MXNet sorts equal logits in any order. The lowest id is the first of them: so many that are equal come before the place.
    chosen = npx.pick(falling, place, axis=-1)[:, None]
    equal = mnp.cumsum((logits == chosen).astype("int32"), axis=1)
    return _count(equal <= (place - _count(logits > chosen))[:, None])


def _count(true: mnp.ndarray) -> mnp.ndarray:
    return true.astype("int32").sum(axis=-1)
