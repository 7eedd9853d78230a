"""Cross-entropy in Keras: classes of ``keras.losses``."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return _array(keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits))


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return _array(keras.losses.SparseCategoricalCrossentropy()(labels, scores))


def cross_entropy_ignoring(logits: np.ndarray, labels: np.ndarray, ignored: int) -> np.ndarray:
    return _array(keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=ignored)(labels, logits))


def cross_entropy_smoothed(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> np.ndarray:
    one_hot = keras.utils.to_categorical(labels, logits.shape[-1])
    return _array(keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=smoothing)(one_hot, logits))


def cross_entropy_half(logits: np.ndarray, labels: np.ndarray) -> str:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, tf.cast(logits, tf.float16)).dtype.name


def cross_entropy_bfloat16(logits: np.ndarray, labels: np.ndarray) -> str:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, tf.cast(logits, tf.bfloat16)).dtype.name


def _array(loss: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(loss)
