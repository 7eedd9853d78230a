"""Products of matrices: in a training's precision, and of few operations where sizes are not known before they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras
import tensorflow as tf

_in_bfloat16: ContextVar[bool] = ContextVar("_in_bfloat16", default=False)


@contextmanager
def bfloat16_products(wanted: bool) -> Iterator[None]:
    """Around what a trainer traces: factors, products and their gradients are rounded to bfloat16, and all else is as it is.

    Not by a dtype policy, which belongs to the layers: the model stays one of float32 when it is used otherwise.
    """
    before = _in_bfloat16.set(wanted)
    try:
        yield
    finally:
        _in_bfloat16.reset(before)


def product(left: Any, right: Any, transpose_b: bool = False) -> tf.Tensor:
    """tf.matmul, in the dtype of its factors."""
    left, right = tf.convert_to_tensor(left), tf.convert_to_tensor(right)
    if not _in_bfloat16.get():
        return tf.matmul(left, right, transpose_b=transpose_b)
    halves = (tf.cast(factor, tf.bfloat16) for factor in (left, right))
    return tf.cast(tf.matmul(*halves, transpose_b=transpose_b), left.dtype)


@keras.saving.register_keras_serializable("transformer_mb")
class Dense(keras.layers.Dense):
    """keras.layers.Dense as one product of two matrices: of sizes not known Keras' own makes twenty operations."""

    def call(self, X: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        Y = product(tf.reshape(X, (-1, X.shape[-1])), self.kernel)
        if self.bias is not None:
            Y = Y + self.bias
        return tf.reshape(Y, _leading(X, self.units))


def _leading(X: tf.Tensor, width: int) -> Any:
    """The shape of X with another last size, as numbers where one size at most is unknown."""
    sizes = X.shape[:-1].as_list()
    if sizes.count(None) > 1 or (None in sizes and 0 in sizes):
        return tf.concat((tf.shape(X)[:-1], (width,)), axis=0)
    return [*(-1 if size is None else size for size in sizes), width]
