"""tf.function, compiled by XLA (``jit_compile=True``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


def _round_trip(X: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.cast(X, tf.bfloat16), tf.float32)


def through_bfloat16(X: np.ndarray) -> np.ndarray:
    return _round_trip(tf.constant(X)).numpy()


def through_bfloat16_compiled(X: np.ndarray) -> np.ndarray:
    return tf.function(_round_trip, jit_compile=True)(tf.constant(X)).numpy()


def sum_less_first(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return tf.function(lambda x, y: x + y - x, jit_compile=True)(tf.constant(X), tf.constant(Y)).numpy()


def logarithm_of_power(X: np.ndarray) -> np.ndarray:
    """TensorFlow has no log2 and exp2 but in its NumPy."""
    compiled = tf.function(lambda x: tf.experimental.numpy.log2(tf.experimental.numpy.exp2(x)), jit_compile=True)
    return compiled(tf.constant(X)).numpy()


def multiply_add(X: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    compiled = tf.function(lambda x, y, z: x * y + z, jit_compile=True)
    return compiled(tf.constant(X), tf.constant(Y), tf.constant(Z)).numpy()


def third(X: np.ndarray) -> np.ndarray:
    return tf.function(lambda x: x / 3.0, jit_compile=True)(tf.constant(X)).numpy()


def runs(arrays: Sequence[np.ndarray]) -> int:
    """How often Python runs a tf.function, traced without XLA, when it is called with each of the arrays."""
    seen = []

    @tf.function
    def traced(x: tf.Tensor) -> tf.Tensor:
        seen.append(1)
        return x + 1.0

    for array in arrays:
        traced(tf.constant(array))
    return len(seen)
