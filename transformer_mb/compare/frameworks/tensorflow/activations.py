"""Activations in Keras: functions of ``keras.ops``, and layers."""

from __future__ import annotations

import keras
import numpy as np


def gelu(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.gelu(X))


def gelu_layer(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.Activation("gelu")(X))


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.leaky_relu(X))


def leaky_relu_layer(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.LeakyReLU()(X))


def prelu_layer(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.layers.PReLU()(X))


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.hard_sigmoid(X))


def elu(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.elu(X))


def softplus(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.softplus(X))


def relu(X: np.ndarray) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.relu(X))
