"""Arguments of a caller as arrays: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)


def token_ids(name: str, given: Any, rows: int | None, like: Any) -> Array:
    """Ids [B, T] of a table of ``rows`` rows; lists and NumPy arrays are taken too."""
    ids = _tensor(name, given, like)
    check_ids(name, ids.shape, ids.dtype.kind in "iu", ids.dtype, None if rows is None else _values(ids), rows)
    return ids


def look_up(name: str, table: nnx.Embed, ids: Array) -> Array:
    """The rows of these ids. JAX would give NaN for an id that is not there, and does so when compiled."""
    values = _values(ids)
    if values is not None and isinstance(table, nnx.Embed):  # another one in its place says itself what it has not
        check_id_values(name, values, table.num_embeddings)
    return table(ids)


def lengths(name: str, given: Any, forms: Sequence[Sequence[int]], steps: int, like: Array) -> Array:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``."""
    lens = _tensor(name, given, like)
    check_valid_lens(name, lens.shape, lens.dtype.kind in "iu", lens.dtype, _values(lens), forms, steps)
    return lens


def attention_mask(given: Any, scores: Sequence[int], like: Array) -> Array:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _tensor("mask", given, like)
    check_mask(mask.shape, mask.dtype.kind == "b", mask.dtype, scores)
    return mask[:, None] if mask.ndim == 3 and len(scores) == 4 else mask


def features(name: str, X: Array, layer: nnx.Module | None) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take. Another layer in its place says so itself."""
    check_features(name, X, getattr(layer, "in_features", None))
    floats(name, X, getattr(layer, "kernel", None))


def floats(name: str, X: Array, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers. Of two floating dtypes JAX computes in the wider."""
    if not jnp.issubdtype(X.dtype, jnp.floating):
        refuse_dtype(name, X.dtype, None if like is None else like.dtype, of)


def _tensor(name: str, given: Any, like: Any) -> Array:
    return given if isinstance(given, Array) else jnp.asarray(as_array(name, given))


def _values(array: Array) -> np.ndarray | None:
    """The numbers, where reading them waits for no device and is no part of a trace."""
    if isinstance(array, jax.core.Tracer) or not array.is_fully_addressable:
        return None
    return np.asarray(array) if next(iter(array.devices())).platform == "cpu" else None
