"""numpy.random.default_rng."""

from __future__ import annotations

import numpy as np

NO_LAYERS = "NumPy has no layers."
ABSENT = {
    "dense": NO_LAYERS,
    "embedding": NO_LAYERS,
    "dropout": NO_LAYERS,
    "truncated_normal": "NumPy has no truncated normal distribution.",
    "initialized_twice": "NumPy has no initializers.",
}


def uniform(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).random(count, "float32")


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.random(count, "float32"), generator.random(count, "float32")


def normal(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count, "float32")
