"""Normalization over the last axis in Keras; variance and deviation in TensorFlow."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf


def layer_norm(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.LayerNormalization()(X))


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.LayerNormalization(dtype=X.dtype.name)(X))


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.LayerNormalization(number)(X))


def rms_norm(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.RMSNormalization(dtype=X.dtype.name)(X))


def variance(X: np.ndarray) -> float:
    return float(tf.math.reduce_variance(X))


def deviation(X: np.ndarray) -> float:
    return float(tf.math.reduce_std(X))
