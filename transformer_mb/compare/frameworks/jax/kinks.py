"""Gradients in JAX where a function has a kink, a pole or a tie."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np


def relu(X: np.ndarray) -> np.ndarray:
    return _gradient(jax.nn.relu, X)


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return _gradient(jax.nn.leaky_relu, X)


def absolute(X: np.ndarray) -> np.ndarray:
    return _gradient(jnp.abs, X)


def largest(X: np.ndarray) -> np.ndarray:
    return _gradient(jnp.max, X)


def largest_along(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: jnp.max(x, -1), X)


def larger(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: jnp.maximum(x, Y), X)


def clip(X: np.ndarray, low: float, high: float) -> np.ndarray:
    return _gradient(lambda x: jnp.clip(x, low, high), X)


def norm(X: np.ndarray) -> np.ndarray:
    return _gradient(jnp.linalg.norm, X)


def deviation(X: np.ndarray) -> np.ndarray:
    return _gradient(jnp.std, X)


def product(X: np.ndarray) -> np.ndarray:
    return _gradient(jnp.prod, X)


def power(X: np.ndarray, exponent: float) -> np.ndarray:
    return _gradient(lambda x: x**exponent, X)


def logsumexp(X: np.ndarray) -> np.ndarray:
    return _gradient(lambda x: jax.nn.logsumexp(x, -1), X)


def _gradient(function: Callable[[jax.Array], jax.Array], X: np.ndarray) -> np.ndarray:
    return np.asarray(jax.grad(lambda x: function(x).sum())(jnp.asarray(X)))
