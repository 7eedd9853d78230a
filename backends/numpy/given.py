"""Arguments of a caller as arrays: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)

from .framework import Embedding, Layer, Linear


def token_ids(name: str, given: Any, rows: int | None, like: Any) -> np.ndarray:
    """Ids [B, T] of a table of ``rows`` rows; lists are taken too."""
    ids = _tensor(name, given, like)
    check_ids(name, ids.shape, ids.dtype.kind in "iu", ids.dtype, None if rows is None else ids, rows)
    return ids


def look_up(name: str, table: Embedding, ids: np.ndarray) -> np.ndarray:
    """The rows of these ids."""
    if isinstance(table, Embedding):  # another one in its place says itself what it has not
        check_id_values(name, ids, len(table.weight.value))
    return table(ids)


def lengths(name: str, given: Any, forms: Sequence[Sequence[int]], steps: int, like: np.ndarray) -> np.ndarray:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``."""
    lens = _tensor(name, given, like)
    check_valid_lens(name, lens.shape, lens.dtype.kind in "iu", lens.dtype, lens, forms, steps)
    return lens


def attention_mask(given: Any, scores: Sequence[int], like: np.ndarray) -> np.ndarray:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _tensor("mask", given, like)
    check_mask(mask.shape, mask.dtype.kind == "b", mask.dtype, scores)
    return mask[:, None] if mask.ndim == 3 and len(scores) == 4 else mask


def features(name: str, X: np.ndarray, layer: Layer | None) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take. Another layer in its place says so itself."""
    check_features(name, X, getattr(layer, "in_features", None))
    floats(name, X, layer.weight.value if isinstance(layer, Linear) else None)


def floats(name: str, X: np.ndarray, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers. Of two floating dtypes NumPy computes in the wider."""
    if X.dtype.kind != "f":
        refuse_dtype(name, X.dtype, None if like is None else like.dtype, of)


def _tensor(name: str, given: Any, like: Any) -> np.ndarray:
    return given if isinstance(given, np.ndarray) else as_array(name, given)
