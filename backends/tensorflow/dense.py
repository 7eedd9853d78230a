"""Products of matrices: in a training's precision, and of few operations where sizes are not known before they come."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import keras
import tensorflow as tf

TINY = 2**10  # multiplications of one product
TWO_BYTES = (tf.bfloat16, tf.float16)
_in_bfloat16: ContextVar[bool] = ContextVar("_in_bfloat16", default=False)


@contextmanager
def bfloat16_products(wanted: bool) -> Iterator[None]:
    """Round inside, where a trainer traces, factors, products and their gradients to bfloat16; all else is as it is.

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
    if not _in_bfloat16.get() and left.dtype != tf.bfloat16:
        return tf.matmul(left, right, transpose_b=transpose_b)
    factors = [tf.cast(factor, tf.bfloat16) for factor in (left, right)]
    if cuts_bfloat16():
        factors = [tf.cast(factor, tf.float32) for factor in factors]
    return tf.cast(tf.cast(tf.matmul(*factors, transpose_b=transpose_b), tf.bfloat16), left.dtype)


@cache
def cuts_bfloat16() -> bool:
    """Tell whether TensorFlow cuts a product in bfloat16 off, where it is to be rounded.

    Without oneDNN's kernels, which need AVX-512, its own multiplies in float32 and drops the lower half of each number: up to
    twice the error, all of it toward zero. Multiplied in float32 by us and rounded, it takes the same time.
    """
    if tf.config.list_physical_devices("GPU"):
        return False
    ceiling = os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512").upper()
    if not ceiling.startswith(("AVX512", "AVX10", "ALL", "DEFAULT")):
        return True  # to try could be a segmentation fault
    with tf.init_scope():  # measured, whatever is traced now: 1 + 3/512 lies nearer to 1 + 4/512 than to 1
        found = tf.matmul(tf.constant([[1.0, 3 / 512]], tf.bfloat16), tf.ones((2, 1), tf.bfloat16))
        return float(found[0, 0]) == 1.0


def row_product(X: tf.Tensor, weight: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """X [N, in] by a matrix: Eigen takes two thirds of oneDNN's time to read what one row multiplies."""
    if X.shape[0] == 1 and _eigen_has(X):
        return _eigen(X, weight, adj_y=transpose_b)
    return tf.matmul(X, weight, transpose_b=transpose_b)


def products(left: tf.Tensor, right: tf.Tensor, transpose_b: bool = False) -> tf.Tensor:
    """``product`` of a matrix for each row and head. Where they are tiny, oneDNN takes longer to begin than Eigen to end."""
    sizes = [*left.shape[-2:], right.shape[-2 if transpose_b else -1]]
    tiny = left.shape[-2] == 1 or (None not in sizes and math.prod(sizes) <= TINY)
    if not tiny or _in_bfloat16.get() or not _eigen_has(left):
        return product(left, right, transpose_b)

    @tf.custom_gradient
    def multiplied(left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(change: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            if transpose_b:
                return _eigen(change, right), _eigen(change, left, adj_x=True)
            return _eigen(change, right, adj_y=True), _eigen(left, change, adj_x=True)

        return _eigen(left, right, adj_y=transpose_b), gradient

    return multiplied(left, right)


def _eigen_has(X: tf.Tensor) -> bool:
    return X.dtype in (tf.float32, tf.float64) and not tf.config.list_physical_devices("GPU")


def _eigen(left: tf.Tensor, right: tf.Tensor, **turned: bool) -> tf.Tensor:
    # The newest of these operations, which no graph pass hands to oneDNN.
    return tf.raw_ops.BatchMatMulV3(x=left, y=right, Tout=left.dtype, **turned)


def plus(Y: tf.Tensor, vector: Any) -> tf.Tensor:
    """Y + vector, whose gradient is summed in float32: TensorFlow adds up all rows in float16, and loses digits of many."""
    if Y.dtype not in TWO_BYTES:
        return Y + vector

    @tf.custom_gradient
    def added(Y: tf.Tensor, vector: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(change: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rows = tf.cast(tf.reshape(change, (-1, tf.size(vector))), tf.float32)
            return change, tf.cast(tf.reshape(tf.reduce_sum(rows, axis=0), tf.shape(vector)), vector.dtype)

        return Y + vector, gradient

    return added(Y, tf.convert_to_tensor(vector))


@keras.saving.register_keras_serializable("transformer_mb")
class Dense(keras.layers.Dense):
    """keras.layers.Dense as one product of two matrices: of sizes not known Keras' own makes twenty operations."""

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(int(units), **kwargs)  # Keras refuses a whole number of NumPy's

    def call(self, X: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        Y = product(tf.reshape(X, (-1, X.shape[-1])), self.kernel)
        if self.bias is not None:
            Y = plus(Y, self.bias)
        return tf.reshape(Y, _leading(X, self.units))


def _leading(X: tf.Tensor, width: int) -> Any:
    """The shape of X with another last size, as numbers where one size at most is unknown."""
    sizes = X.shape[:-1].as_list()
    if sizes.count(None) > 1 or (None in sizes and 0 in sizes):
        return tf.concat((tf.shape(X)[:-1], (width,)), axis=0)
    return [*(-1 if size is None else size for size in sizes), width]


def _without_gradient(weight: tf.Tensor, row: int) -> tf.Tensor:
    """The table, whose row learns nothing. By tf.where the whole table would be copied at each step of decoding."""

    @tf.custom_gradient
    def table(weight: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        def gradient(table: tf.Tensor) -> tf.Tensor:
            return tf.tensor_scatter_nd_update(table, [[row]], tf.zeros_like(table[:1]))

        return tf.identity(weight), gradient

    return table(weight)


class TiedDense(keras.layers.Layer):
    """An output projection whose weight is an embedding table: [V, D] is the canonical [out, in] already."""

    def __init__(self, embedding: keras.layers.Embedding, use_bias: bool, padding_id: int | None, **kwargs: Any):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.padding_id = padding_id
        self.bias = self.add_weight(shape=(embedding.input_dim,), initializer="zeros", name="bias") if use_bias else None
        self.built = True

    def call(self, X: tf.Tensor) -> tf.Tensor:
        weight = tf.convert_to_tensor(self.embedding.embeddings)
        weight = weight if self.padding_id is None else _without_gradient(weight, self.padding_id)
        B, T, D = keras.ops.shape(X)
        Y = product(tf.reshape(X, (-1, D)), weight, transpose_b=True)
        Y = tf.reshape(Y, (B, T, self.embedding.input_dim))
        return Y if self.bias is None else plus(Y, self.bias)
