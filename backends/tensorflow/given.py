"""Arguments of a caller as tensors: token ids, lengths, masks, features; ``transformer_mb.checks`` says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.checks import (
    as_array,
    check_features,
    check_id_values,
    check_ids,
    check_mask,
    check_valid_lens,
    refuse_dtype,
)


def token_ids(name: str, given: Any, rows: int | None, like: Any) -> tf.Tensor:
    """Ids [B, T] of a table of ``rows`` rows; lists and NumPy arrays are taken too."""
    ids = _tensor(name, given)
    check_ids(name, ids.shape, ids.dtype.is_integer, ids.dtype, None if rows is None else _values(ids), rows)
    return ids


def look_up(name: str, table: keras.layers.Embedding, ids: tf.Tensor) -> tf.Tensor:
    """The rows of these ids."""
    values = _values(ids)
    if values is not None and isinstance(table, keras.layers.Embedding):  # another one in its place says itself what it has not
        check_id_values(name, values, table.input_dim)
    return table(ids)


def lengths(name: str, given: Any, forms: Sequence[Sequence[Any]], steps: Any, like: tf.Tensor) -> tf.Tensor:
    """Lengths from 0 to ``steps``, of one of the shapes ``forms``; a size that is a tensor is not known yet."""
    lens = _tensor(name, given)
    known = [[_known(size) for size in form] for form in forms]
    check_valid_lens(name, lens.shape, lens.dtype.is_integer, lens.dtype, _values(lens), known, _known(steps))
    return lens if lens.dtype.size >= 4 else tf.cast(lens, tf.int32)  # few bits hold neither all steps nor a sum of lengths


def attention_mask(given: Any, scores: Sequence[int | None], like: tf.Tensor) -> tf.Tensor:
    """A boolean mask, broadcastable to scores of that shape; [B, T, S] is the same for every head."""
    mask = _tensor("mask", given)
    check_mask(mask.shape, mask.dtype.is_bool, mask.dtype, scores)
    return mask[:, None] if mask.shape.rank == 3 and len(scores) == 4 else mask


def features(name: str, X: tf.Tensor, layer: keras.layers.Layer | None) -> None:
    """Refuse an input [B, T, width] that this linear layer does not take. Another layer in its place says so itself."""
    kernel = layer.kernel if isinstance(layer, keras.layers.Dense) and layer.built else None
    check_features(name, X, None if kernel is None else kernel.shape[0])
    floats(name, X, kernel)


def floats(name: str, X: tf.Tensor, like: Any = None, of: str = "weights") -> None:
    """Refuse features that are whole numbers. Keras casts floating dtypes to the weights', but not to the queries'."""
    dtype = tf.as_dtype(X.dtype)
    if not dtype.is_floating or (of == "queries" and dtype != like.dtype):
        refuse_dtype(name, dtype, None if like is None else like.dtype, of)


def _tensor(name: str, given: Any) -> tf.Tensor:
    return tf.convert_to_tensor(given if tf.is_tensor(given) else as_array(name, given))


def _known(size: Any) -> int | None:
    return size if isinstance(size, int) else None


def _values(tensor: tf.Tensor) -> np.ndarray | None:
    """The numbers, where reading them waits for no device and is no part of a trace."""
    return tensor.numpy() if tf.executing_eagerly() and "CPU" in tensor.device else None
