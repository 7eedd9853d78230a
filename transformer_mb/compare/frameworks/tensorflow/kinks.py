"""Gradients in TensorFlow where a function has a kink, a pole or a tie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf


def relu(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.nn.relu, X)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.nn.leaky_relu, X)


def absolute(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.abs, X)


def largest(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.reduce_max, X)


def largest_along(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: tf.reduce_max(x, -1), X)


def larger(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: tf.maximum(x, Y), X)


def clip(X: np.ndarray, low: float, high: float) -> np.ndarray:
    return _gradient(lambda x: tf.clip_by_value(x, low, high), X)


def norm(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.norm, X)


def deviation(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.math.reduce_std, X)


def product(X: np.ndarray) -> np.ndarray:
    return _gradient(tf.reduce_prod, X)


def power(X: np.ndarray, exponent: float) -> np.ndarray:
    return _gradient(lambda x: x**exponent, X)


def logsumexp(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: tf.reduce_logsumexp(x, -1), X)


def _gradient(function: Callable[[Any], Any], X: np.ndarray) -> np.ndarray:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = function(x)
    return tape.gradient(result, x).numpy()
