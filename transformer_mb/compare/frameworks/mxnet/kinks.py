"""Gradients in MXNet where a function has a kink, a pole or a tie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp

ABSENT = {"logsumexp": "MXNet 1.9.1 has no logsumexp."}


def relu(X: np.ndarray) -> np.ndarray:
    return _gradient(npx.relu, X)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return _gradient(npx.leaky_relu, X)


def absolute(X: np.ndarray) -> np.ndarray:
    return _gradient(mnp.abs, X)


def largest(X: np.ndarray) -> np.ndarray:
    return _gradient(mnp.max, X)


def largest_along(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: mnp.max(x, -1), X)


def larger(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: mnp.maximum(x, mnp.array(Y)), X)


def clip(X: np.ndarray, low: float, high: float) -> np.ndarray:
    return _gradient(lambda x: mnp.clip(x, low, high), X)


def norm(X: np.ndarray) -> np.ndarray:
    return _gradient(mnp.linalg.norm, X)


def deviation(X: np.ndarray) -> np.ndarray:
    return _gradient(mnp.std, X)


def product(X: np.ndarray) -> np.ndarray:
    return _gradient(mnp.prod, X)


def power(X: np.ndarray, exponent: float) -> np.ndarray:
    return _gradient(lambda x: x**exponent, X)


def _gradient(function: Callable[[mnp.ndarray], mnp.ndarray], X: np.ndarray) -> np.ndarray:
    x = mnp.array(X)
    x.attach_grad()
    with autograd.record():
        result = function(x).sum()
    result.backward()
    return x.grad.asnumpy()
