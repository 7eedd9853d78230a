"""Arguments of a caller as arrays: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)

from .framework import Embedding, Linear


def token_ids(name: str, given: Any, rows: int | None) -> numpy.ndarray:
    """Ids [B, T] of a table of ``rows`` rows; lists are taken too."""
    ids = _array(name, given)
    check_ids(name, ids.shape, ids.dtype.kind in "iu", ids.dtype, None if rows is None else ids, rows)
    return ids


def look_up(name: str, table: Any, ids: numpy.ndarray) -> Any:
    """The rows of these ids."""
    if isinstance(table, Embedding):
        check_id_values(name, ids, table.weight.value.shape[0])
    return table(ids)


def lengths(name: str, given: Any, forms: Sequence[Sequence[int]], steps: int) -> numpy.ndarray:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``."""
    lens = _array(name, given)
    check_valid_lens(name, lens.shape, lens.dtype.kind in "iu", lens.dtype, lens, forms, steps)
    return lens


def attention_mask(given: Any, scores: Sequence[int]) -> numpy.ndarray:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _array("mask", given)
    check_mask(mask.shape, mask.dtype.kind == "b", mask.dtype, scores)
    return mask[:, None] if mask.ndim == 3 and len(scores) == 4 else mask


def features(name: str, X: Any, layer: Any) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take."""
    check_features(name, X, getattr(layer, "in_features", None))
    floats(name, X, layer.weight.value if isinstance(layer, Linear) else None)


def floats(name: str, X: Any, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers."""
    if not mx.issubdtype(X.dtype, mx.floating):
        refuse_dtype(name, X.dtype, None if like is None else like.dtype, of)


def _array(name: str, given: Any) -> Any:
    if isinstance(given, mx.array):
        given = numpy.array(given)
    return given if isinstance(given, numpy.ndarray) else as_array(name, given)
