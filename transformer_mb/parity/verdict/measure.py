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


def gradient_floor(reference: Mapping[str, np.ndarray]) -> float:
    """1e-2 of the whole gradient's norm: some gradients are zero in theory and rounding noise in practice."""
    return FLOOR * float(np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in reference.values())))


def gradient_errors(got: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> float:
    """The worst error of arrays whose sizes are compared with that of all of them together."""
    assert list(got) and set(got) == set(reference)
    floor = gradient_floor(reference) + float(np.finfo(np.float64).tiny)
    return worst(error(got[name], reference[name], floor) for name in reference)
