"""The distance of two results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

# Outputs near zero are measured against this many times the root of their size, gradients against the whole gradient.
FLOOR = 1e-2
TINY = float(np.finfo(np.float64).tiny)
CANCELED = 1e-13  # of the whole gradient, or less: a zero but for what float64 rounds


class Errors(NamedTuple):
    """Two relative errors of one result: a norm hides a single wrong number among many, which the second shows.

    Args:
        norm: of all n numbers together, ||got - reference|| / ||reference||.
        element: of the number that is furthest off, |got - reference| / (||reference|| / sqrt(n)): never less than ``norm``.
    """

    norm: float
    element: float


NONE = Errors(0.0, 0.0)
ByArray = Mapping[str, Errors]  # of each array of an answer that a row compares


def error(got: np.ndarray, reference: np.ndarray, floor: float | None = None) -> float:
    """The relative error by norm alone."""
    return errors(got, reference, floor).norm


def errors(got: np.ndarray, reference: np.ndarray, floor: float | None = None) -> Errors:
    """Relative to max(||reference||, floor); the floor is 1e-2 sqrt(n) for an output of n numbers.

    Raises: AssertionError when the shapes differ, which no number could say. NaN in ``got`` gives NaN.
    """
    got, reference = np.asarray(got, np.float64), np.asarray(reference, np.float64)
    assert got.shape == reference.shape, f"shape {list(reference.shape)} was expected, got {list(got.shape)}"
    floor = FLOOR * np.sqrt(reference.size) if floor is None else floor
    # Of a whole gradient that is zero the error of zero is 0, and that of anything else beyond every limit.
    off, size = got - reference, worst([float(np.linalg.norm(reference)), floor, TINY])
    furthest = np.abs(off).max(initial=0.0) * np.sqrt(reference.size)
    return Errors(float(np.linalg.norm(off) / size), float(furthest / size))


def worst(errors: Iterable[float]) -> float:
    """The largest; NaN where one is NaN, which Python's ``max`` loses. Raises ValueError when there is none to compare."""
    return float(np.max(np.fromiter(errors, np.float64)))


def worst_errors(errors: Iterable[Errors]) -> Errors:
    """The largest of each figure."""
    norms, elements = zip(*errors, strict=True)
    return Errors(worst(norms), worst(elements))


def worst_by_array(answers: Sequence[ByArray]) -> dict[str, Errors]:
    """The largest of each figure over several answers with the same arrays."""
    return {name: worst_errors(answer[name] for answer in answers) for name in answers[0]}


def norm(arrays: Iterable[np.ndarray]) -> float:
    """Return the norm of all numbers of some arrays together."""
    return float(np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in arrays)))


def gradient_floor(reference: np.ndarray, whole: float) -> float:
    """Return 1e-2 of the whole gradient's norm, for small gradients are rounding noise of large ones.

    All of it where the reference is zero but for float64's rounding: what comes of numbers that cancel is zero in one
    implementation and noise in another, and NumPy's own noise says nothing of theirs.
    """
    return FLOOR * whole if norm([reference]) > CANCELED * whole else whole


def gradient_errors(got: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], least: float = 0.0) -> ByArray:
    """Measure arrays whose sizes are compared with that of all of them together, or with ``least``."""
    assert list(got) and set(got) == set(reference)
    whole = worst([norm(reference.values()), least, TINY])
    return {name: errors(got[name], value, gradient_floor(value, whole)) for name, value in reference.items()}
