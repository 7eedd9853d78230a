"""Activations in ``jax.nn``, which flax nnx passes on."""

from __future__ import annotations

import jax
import numpy as np
from flax import nnx

from .float64 import enable_x64

ABSENT = dict.fromkeys(("gelu_layer", "leaky_relu_layer"), "flax nnx has the function of jax.nn, and no layer.")


def gelu(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.gelu(X))


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.leaky_relu(X))


def prelu_layer(X: np.ndarray) -> np.ndarray:
    return np.asarray(nnx.PReLU()(X))


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.hard_sigmoid(X))


def elu(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.elu(X))


def softplus(X: np.ndarray) -> np.ndarray:
    with enable_x64(X.dtype == np.float64):
        return np.asarray(jax.nn.softplus(X))


def relu(X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.nn.relu(X))
