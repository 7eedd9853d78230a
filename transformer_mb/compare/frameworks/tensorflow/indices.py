"""TensorFlow: tf.gather, tf.argmax, tf.reduce_max, tf.math.top_k, tf.argsort and tf.one_hot."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

ABSENT = {"index": "A TensorFlow tensor cannot be indexed with another; tf.gather does it."}


def take(X: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return tf.gather(X, ids).numpy()


def argmax(X: np.ndarray) -> np.ndarray:
    return tf.argmax(X, axis=-1).numpy()


def maximum(X: np.ndarray) -> np.ndarray:
    return tf.reduce_max(X, axis=-1).numpy()


def top_k(X: np.ndarray, k: int) -> np.ndarray:
    return tf.math.top_k(X, k).indices.numpy()


def argsort(X: np.ndarray) -> np.ndarray:
    return tf.argsort(X).numpy()


def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    return tf.one_hot(ids, classes).numpy()
