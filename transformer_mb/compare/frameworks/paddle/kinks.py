"""Gradients in Paddle where a function has a kink, a pole or a tie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import paddle
from paddle import Tensor


def relu(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.nn.functional.relu, X)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.nn.functional.leaky_relu, X)


def absolute(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.abs, X)


def largest(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.max, X)


def largest_along(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: paddle.max(x, -1), X)


def larger(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: paddle.maximum(x, paddle.to_tensor(Y)), X)


def clip(X: np.ndarray, low: float, high: float) -> np.ndarray:
    return _gradient(lambda x: paddle.clip(x, low, high), X)


def norm(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.linalg.norm, X)


def deviation(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.std, X)


def product(X: np.ndarray) -> np.ndarray:
    return _gradient(paddle.prod, X)


def power(X: np.ndarray, exponent: float) -> np.ndarray:
    return _gradient(lambda x: x**exponent, X)


def logsumexp(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: paddle.logsumexp(x, -1), X)


def _gradient(function: Callable[[Tensor], Tensor], X: np.ndarray) -> np.ndarray:
    x = paddle.to_tensor(X, stop_gradient=False)
    function(x).sum().backward()
    assert x.grad is not None
    return x.grad.numpy()
