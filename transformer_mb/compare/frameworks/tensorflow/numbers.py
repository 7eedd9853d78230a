"""TensorFlow's own operations, eagerly, and the operators of its tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


def returned(X: np.ndarray) -> np.ndarray:
    return tf.convert_to_tensor(X).numpy()


def from_python(values: Sequence[float]) -> np.ndarray:
    return tf.constant(values).numpy()


def arange(count: int) -> np.ndarray:
    return tf.range(count).numpy()


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (tf.convert_to_tensor(X) + tf.convert_to_tensor(Y)).numpy()


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return (tf.convert_to_tensor(X) + number).numpy()


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (tf.convert_to_tensor(X) / tf.convert_to_tensor(Y)).numpy()


def total(X: np.ndarray) -> np.ndarray:
    return tf.reduce_sum(tf.convert_to_tensor(X)).numpy()


def mean(X: np.ndarray) -> np.ndarray:
    return tf.reduce_mean(tf.convert_to_tensor(X)).numpy()


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    first, second = (tf.cast(array, dtype) for array in (X, Y))
    return tf.cast(first @ second, "float32").numpy()


def follows_array(X: np.ndarray) -> bool:
    """Whether a change of the array is seen in the tensor that convert_to_tensor made of it."""
    tensor = tf.convert_to_tensor(X)
    X[0] += 1
    return bool(tensor[0] == X[0])


def follows_tensor(X: np.ndarray) -> bool:
    """Whether a change of what numpy() gives is seen in the tensor."""
    tensor = tf.constant(X)
    array = tensor.numpy()
    array[0] += 1
    return bool(tensor[0] == array[0])
