"""Inputs and lengths of the kinds that hide mistakes: equal, tied, tiny, huge, absent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Random = np.random.Generator
Shape = tuple[int, ...]


def _equal_steps(random: Random, shape: Shape) -> np.ndarray:
    """Make all steps of a row the same vector."""
    return np.repeat(random.standard_normal((*shape[:-2], 1, shape[-1])), shape[-2], axis=-2)


def _equal_features(random: Random, shape: Shape) -> np.ndarray:
    """Make each vector one number again and again: it has no variance."""
    return np.repeat(random.standard_normal((*shape[:-1], 1)), shape[-1], axis=-1)


def _tied(random: Random, shape: Shape) -> np.ndarray:
    """A few different numbers, so that the largest is often there twice."""
    return np.round(random.standard_normal(shape))


def _around_1000(random: Random, shape: Shape) -> np.ndarray:
    """All of one sign, and too large for an exponential of any dtype."""
    return 1000.0 + random.standard_normal(shape)


def _scaled(scale: float) -> Callable[[Random, Shape], np.ndarray]:
    return lambda random, shape: scale * random.standard_normal(shape)


VALUES: dict[str, Callable[[Random, Shape], np.ndarray]] = {
    "usual": _scaled(1.0),
    "equal steps": _equal_steps,
    "equal features": _equal_features,
    "ties": _tied,
    "1e-6": _scaled(1e-6),
    "3": _scaled(3.0),
    "1e4": _scaled(1e4),
    "around 1000": _around_1000,
    "zeros": _scaled(0.0),
}
LENGTHS = ("ragged", "full", "ones", "one is 0")
NO_STEPS = "all are 0"


def lengths(kind: str, random: Random, rows: int, steps: int) -> np.ndarray:
    """[rows]: how many steps of each row there are."""
    if kind in ("full", "ones", NO_STEPS):
        return np.full(rows, {"full": steps, "ones": 1, NO_STEPS: 0}[kind])
    lens = random.integers(1, steps + 1, rows)
    lens[0] = steps
    if kind == "one is 0":
        lens[-1] = 0
    return lens
