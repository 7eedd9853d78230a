"""How far two results are apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

# Outputs near zero are measured against this many times the root of their size, gradients against the whole gradient.
FLOOR = 1e-2


def error(got: np.ndarray, reference: np.ndarray, floor: float | None = None) -> float:
    """||got - reference|| / max(||reference||, floor); the floor is 1e-2 sqrt(n) for an output of n numbers.

    Raises: AssertionError when the shapes differ, which no number could say. NaN in ``got`` gives NaN.
    """
    got, reference = np.asarray(got, np.float64), np.asarray(reference, np.float64)
    assert got.shape == reference.shape, f"shape {list(reference.shape)} was expected, got {list(got.shape)}"
    floor = FLOOR * np.sqrt(reference.size) if floor is None else floor
    return float(np.linalg.norm(got - reference) / worst([float(np.linalg.norm(reference)), floor]))


def worst(errors: Iterable[float]) -> float:
    """The largest; NaN where one is NaN, which Python's ``max`` loses. Raises ValueError when there is none to compare."""
    return float(np.max(np.fromiter(errors, np.float64)))


def norm(arrays: Iterable[np.ndarray]) -> float:
    """Of all numbers of some arrays together."""
    return float(np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in arrays)))


def gradient_errors(got: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], least: float = 0.0) -> float:
    """The worst error of arrays whose sizes are compared with that of all of them together, or with ``least``."""
    assert list(got) and set(got) == set(reference)
    whole = worst([norm(reference.values()), least, float(np.finfo(np.float64).tiny)])
    return worst(error(got[name], reference[name], gradient_floor(reference[name], whole)) for name in reference)


def gradient_floor(reference: np.ndarray, whole: float) -> float:
    """1e-2 of the whole gradient's norm, for small ones are rounding noise of large ones.

    All of it where the reference is zero, which a sum of numbers that cancel gives to one implementation and noise to another.
    """
    return FLOOR * whole if reference.any() else whole
