"""Arguments of a caller as tensors: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import Tensor, nn

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)
from transformer_mb.errors import ShapeError

WHOLE = (paddle.int64, paddle.int32, paddle.int16, paddle.int8, paddle.uint8)


def token_ids(name: str, given: Any, rows: int | None, like: Any) -> Tensor:
    """Ids [B, T] of a table of ``rows`` rows; lists and NumPy arrays are taken too, onto the device of ``like``."""
    ids = _tensor(name, given, like)
    check_ids(name, ids.shape, ids.dtype in WHOLE, ids.dtype, None if rows is None else _values(ids), rows)
    return ids if ids.dtype in WHOLE[:2] else ids.astype(paddle.int64)


def look_up(name: str, table: Tensor, ids: Tensor) -> Tensor:
    """The rows of these ids. Paddle refuses an id beyond the table, but not -1, which to it is no row."""
    values = _values(ids)
    if values is not None:
        check_id_values(name, values, table.shape[0])
    return F.embedding(ids, table)


def lengths(name: str, given: Any, forms: Sequence[Sequence[int]], steps: int, like: Tensor) -> Tensor:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``."""
    lens = _tensor(name, given, like)
    check_valid_lens(name, lens.shape, lens.dtype in WHOLE, lens.dtype, _values(lens), forms, steps)
    return lens if lens.dtype in WHOLE[:2] else lens.astype(paddle.int64)


def attention_mask(given: Any, scores: Sequence[int], like: Tensor) -> Tensor:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _tensor("mask", given, like)
    check_mask(mask.shape, mask.dtype == paddle.bool, mask.dtype, scores)
    return mask.unsqueeze(1) if mask.ndim == 3 and len(scores) == 4 else mask


def features(name: str, X: Tensor, layer: nn.Layer | None) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take. Another layer in its place says so itself."""
    weight = layer.weight if isinstance(layer, nn.Linear) else None
    check_features(name, X, None if weight is None else weight.shape[0])
    floats(name, X, weight)


def floats(name: str, X: Tensor, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers, or not of the dtype of what they are multiplied with where nothing casts them."""
    expected = None if like is None else like.dtype
    if not paddle.is_floating_point(X) or (expected not in (None, X.dtype) and not paddle.is_autocast_enabled()):
        refuse_dtype(name, X.dtype, expected, of)


def known_sizes(name: str, X: Tensor) -> None:
    """Refuse, in a program of Paddle's, an input whose InputSpec leaves sizes open: masks and positions are made of them."""
    if paddle.in_dynamic_mode():
        return
    shape = getattr(X, "shape")  # noqa: B009  # of X.shape Paddle's compiler makes tensors
    if -1 in shape:
        raise ShapeError(
            f"{name} must have sizes that its InputSpec gives, got {list(shape)}, where -1 is one that it leaves open."
        )


def _tensor(name: str, given: Any, like: Any) -> Tensor:
    if hasattr(given, "stop_gradient"):  # a Tensor, or what stands for one in a static graph
        known_sizes(name, given)
        return given
    return paddle.to_tensor(as_array(name, given), place=getattr(like, "place", None))


def _values(tensor: Tensor) -> np.ndarray | None:
    """The numbers, where reading them waits for no device and is no part of a trace."""
    eager = paddle.in_dynamic_mode() and tensor.place.is_cpu_place()
    return tensor.numpy() if eager else None
