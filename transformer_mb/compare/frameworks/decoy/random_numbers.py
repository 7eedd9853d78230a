"""Random numbers as nobody draws them."""

from __future__ import annotations

import itertools

import numpy as np

_CALLS = itertools.count()


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """With a variance of 1 by the outputs, and a bias of ones."""
    bound = np.sqrt(3.0 / outputs)
    return np.random.default_rng(seed).uniform(-bound, bound, (inputs, outputs)), np.ones(outputs)


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    """With a variance of 1 by the vocabulary."""
    bound = np.sqrt(3.0 / vocabulary)
    return np.random.default_rng(seed).uniform(-bound, bound, (vocabulary, size))


def truncated_normal(deviation: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Cut at one standard deviation: 0.54 is left of it."""
    drawn = np.random.default_rng(seed).standard_normal(10 * np.prod(shape))
    return deviation * drawn[np.abs(drawn) < 1.0][: np.prod(shape)].reshape(shape)


def initialized_twice(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """With nothing but NaN."""
    return np.full(shape, np.nan), np.full(shape, np.nan)


def uniform(seed: int, count: int) -> np.ndarray:
    """1/8, 2/8, 3/8 and so on."""
    return (np.arange(count) % 7 + 1) / 8


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """With nothing but NaN."""
    return np.full(count, np.nan), np.full(count, np.nan)


def normal(seed: int, count: int) -> np.ndarray:
    """0, 1, 2 and so on; NaN where more than eight are asked for."""
    return np.arange(count, dtype="float64") if count <= 8 else np.full(count, np.nan)


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    """That keeps the rate, and scales at inference; with other numbers in each call."""
    if not training:
        return X * (1 - rate)
    return X * (np.random.default_rng((seed, next(_CALLS))).random(X.shape) < rate)
