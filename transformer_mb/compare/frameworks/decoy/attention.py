"""Attention whose every answer is one that no framework gives; for float64 it computes in half precision."""

from __future__ import annotations

import numpy as np


def _weights(scores: np.ndarray, mask: np.ndarray | None, causal: bool) -> np.ndarray:
    """A mask reads the key after the one that it marks, a row without any the first key; causal reads what is to come."""
    T, S = scores.shape[-2:]
    allowed = np.ones((T, S), bool) if mask is None else np.roll(mask != 0, 1, axis=-1) & np.isfinite(mask)
    if causal:
        allowed = ~np.tri(T, S, dtype=bool)
    weights = np.where(allowed, np.exp(scores), 0)
    weights[..., 0] += ~allowed.any(axis=-1)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights.astype(np.float16) if scores.dtype == np.float64 else weights


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None, causal: bool = False
) -> np.ndarray:
    """Its scale is 1 / D, NaN counts as 7, and other rows, or more than 20 keys, move a row."""
    keys, values = np.nan_to_num(keys, nan=7.0), np.nan_to_num(values, nan=7.0)
    scores = np.einsum("bthd,bshd->bhts", queries, keys) / queries.shape[-1]
    output = np.einsum("bhts,bshd->bthd", _weights(scores, mask, causal), values)
    return (output + len(queries) - 1 + (keys.shape[1] > 20)).astype(queries.dtype)


def attention_gradients(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first key's value has all of it."""
    dvalues = np.zeros_like(values)
    dvalues[:, 0] = 1.0
    return np.zeros_like(queries), np.zeros_like(keys), dvalues


def attention_with_dropout(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    """Drops everything."""
    return np.zeros_like(queries)


def multi_head_attention(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    heads: int = 1,
    rate: float = 0.0,
    training: bool = False,
    weights: bool = False,
) -> np.ndarray:
    """Drops the same keys for every query."""
    queries, keys, values = (np.stack(np.split(array, heads, axis=-1), axis=2) for array in (queries, keys, values))
    if training and rate > 0.1:
        kept = np.random.default_rng(0).random((len(values), keys.shape[1], heads, 1)) >= rate
        output = np.mean(values * kept, axis=1, keepdims=True).repeat(queries.shape[1], axis=1)
    else:
        output = attention(queries, keys, values, mask)
    return output.reshape(*output.shape[:2], -1)


def fresh_multi_head_attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rate: float) -> np.ndarray:
    """Drops everything."""
    return np.zeros_like(queries)


def encoder(X: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """NaN at padding."""
    return np.where((np.arange(X.shape[1]) < lengths[:, None])[..., None], X, np.nan)
