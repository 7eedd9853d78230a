"""Arguments of a caller as arrays: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mxnet import gluon, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)


def token_ids(name: str, given: Any, rows: int | None, like: mnp.ndarray | gluon.Parameter) -> mnp.ndarray:
    """Ids [B, T] of a table of ``rows`` rows; lists and NumPy arrays are taken too, onto the context of ``like``."""
    ids = _tensor(name, given, like)
    check_ids(name, ids.shape, _whole(ids), ids.dtype, None if rows is None else _values(ids), rows)
    return ids


def look_up(name: str, table: nn.Embedding, ids: mnp.ndarray) -> mnp.ndarray:
    """The rows of these ids. MXNet would take the nearest row for an id that is not there."""
    values = _values(ids)
    if values is not None:
        check_id_values(name, values, table.weight.shape[0])
    return table(ids)


def lengths(name: str, given: Any, forms: Sequence[Sequence[int]], steps: int, like: mnp.ndarray) -> mnp.ndarray:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``."""
    lens = _tensor(name, given, like)
    check_valid_lens(name, lens.shape, _whole(lens), lens.dtype, _values(lens), forms, steps)
    return as_int64(lens)


def as_int64(numbers: mnp.ndarray) -> mnp.ndarray:
    """Counts and places to compute with: MXNet keeps sums and ranges in their dtype, and those of eight bits wrap."""
    return numbers if numbers.dtype == np.int64 else npx.cast(numbers, dtype="int64")


def attention_mask(given: Any, scores: Sequence[int], like: mnp.ndarray) -> mnp.ndarray:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _tensor("mask", given, like)
    check_mask(mask.shape, np.dtype(mask.dtype).kind == "b", mask.dtype, scores)
    return mnp.expand_dims(mask, 1) if mask.ndim == 3 and len(scores) == 4 else mask


def features(name: str, X: mnp.ndarray, layer: gluon.Block | None) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take. Another layer in its place says so itself."""
    weight = layer.weight if isinstance(layer, nn.Dense) and layer.weight.shape[1] > 0 else None  # 0 until its first call
    check_features(name, X, None if weight is None else weight.shape[1])
    floats(name, X, weight)


def floats(name: str, X: mnp.ndarray, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers, or not of the dtype of what they are multiplied with where nothing casts them."""
    if not isinstance(X, mnp.ndarray):  # MXNet says so
        return
    given, expected = np.dtype(X.dtype), None if like is None else np.dtype(like.dtype)
    if given.kind != "f" or (expected is not None and given != expected):  # to NumPy, float64 == None
        refuse_dtype(name, given, expected, of)


def _tensor(name: str, given: Any, like: mnp.ndarray | gluon.Parameter) -> mnp.ndarray:
    if isinstance(given, mnp.ndarray):
        return given
    array = as_array(name, given)
    context = like.list_ctx()[0] if isinstance(like, gluon.Parameter) else like.ctx
    return mnp.array(array, dtype=array.dtype, ctx=context)


def _whole(array: mnp.ndarray) -> bool:
    """MXNet makes floats of a list of whole numbers, and the book's programs feed those: they are whole all the same."""
    kind = np.dtype(array.dtype).kind
    if kind != "f":
        return kind in "iu"
    values = _values(array)
    return values is None or bool((values == np.floor(values)).all())


def _values(array: mnp.ndarray) -> np.ndarray | None:
    """The numbers, where reading them waits for no device."""
    return array.asnumpy() if array.ctx.device_type == "cpu" else None
