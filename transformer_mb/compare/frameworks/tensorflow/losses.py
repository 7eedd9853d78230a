"""Losses in Keras: classes of ``keras.losses``."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf


def binary_cross_entropy(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _array(keras.losses.BinaryCrossentropy()(targets, scores))


def binary_cross_entropy_probabilities(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _array(keras.losses.BinaryCrossentropy()(targets, probabilities))


def binary_cross_entropy_gradient(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    p = tf.constant(probabilities)
    with tf.GradientTape() as tape:
        tape.watch(p)
        loss = keras.losses.BinaryCrossentropy()(targets, p)
    return tape.gradient(loss, p).numpy()


def squared_error(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _array(keras.losses.MeanSquaredError()(targets, predictions))


def huber(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _array(keras.losses.Huber()(targets, predictions))


def kl_divergence(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _array(keras.losses.KLDivergence()(targets, predictions))


def _array(loss: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(loss)
