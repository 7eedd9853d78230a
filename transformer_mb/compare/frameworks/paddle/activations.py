"""Activations in Paddle."""

from __future__ import annotations

import numpy as np
import paddle
from paddle.nn import functional as F


def gelu(X: np.ndarray) -> np.ndarray:
    return F.gelu(paddle.to_tensor(X)).numpy()


def gelu_layer(X: np.ndarray) -> np.ndarray:
    return paddle.nn.GELU()(paddle.to_tensor(X)).numpy()


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return F.leaky_relu(paddle.to_tensor(X)).numpy()


def leaky_relu_layer(X: np.ndarray) -> np.ndarray:
    return paddle.nn.LeakyReLU()(paddle.to_tensor(X)).numpy()


def prelu_layer(X: np.ndarray) -> np.ndarray:
    return paddle.nn.PReLU()(paddle.to_tensor(X)).numpy()


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    return F.hardsigmoid(paddle.to_tensor(X)).numpy()


def elu(X: np.ndarray) -> np.ndarray:
    return F.elu(paddle.to_tensor(X)).numpy()


def softplus(X: np.ndarray) -> np.ndarray:
    return F.softplus(paddle.to_tensor(X)).numpy()


def relu(X: np.ndarray) -> np.ndarray:
    return F.relu(paddle.to_tensor(X)).numpy()
