"""Gradients in torch where a function has a kink, a pole or a tie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .device import from_numpy, to_numpy


def relu(X: np.ndarray) -> np.ndarray:
    return _gradient(torch.nn.functional.relu, X)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return _gradient(torch.nn.functional.leaky_relu, X)


def absolute(X: np.ndarray) -> np.ndarray:
    return _gradient(torch.abs, X)


def largest(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: x.max(), X)


def largest_along(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: x.max(-1).values, X)


def larger(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: torch.maximum(x, from_numpy(Y)), X)


def clip(X: np.ndarray, low: float, high: float) -> np.ndarray:
    return _gradient(lambda x: torch.clip(x, low, high), X)


def norm(X: np.ndarray) -> np.ndarray:
    return _gradient(torch.linalg.vector_norm, X)


def deviation(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: x.std(), X)


def product(X: np.ndarray) -> np.ndarray:
    return _gradient(torch.prod, X)


def power(X: np.ndarray, exponent: float) -> np.ndarray:
    return _gradient(lambda x: x**exponent, X)


def logsumexp(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: torch.logsumexp(x, -1), X)


def _gradient(function: Callable[[Tensor], Tensor], X: np.ndarray) -> np.ndarray:
    x = from_numpy(X).requires_grad_()
    function(x).sum().backward()
    assert x.grad is not None
    return to_numpy(x.grad)
