"""Arrays of both sides that hold the same numbers, their axes in another order: channels first or last, time or batch first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Layout = tuple[int, ...]  # the reference's array, transposed by it, is the candidate's


def layouts(axes: int) -> Iterator[Layout]:
    """Yield the orders that frameworks have for an array of that many axes, the unchanged one first."""
    usual = tuple(range(axes))
    yield usual
    if axes >= 3:
        yield (0, *usual[2:], 1)  # channels first to channels last
        yield (1, 0, *usual[2:])  # batch first to time first
    if axes >= 4:
        yield (0, axes - 1, *usual[1:-1])  # channels last to channels first


def nearest(got: np.ndarray, expected: np.ndarray) -> tuple[float, Layout]:
    """Return the least distance, relative by norm, of the layouts that give the shape, and that layout; infinite if none."""
    size = float(np.linalg.norm(expected)) or 1.0
    found = float("inf"), tuple(range(expected.ndim))
    for layout in layouts(expected.ndim):
        turned = expected.transpose(layout)
        if turned.shape == got.shape and (distance := float(np.linalg.norm(got - turned)) / size) < found[0]:
            found = distance, layout
    return found


def turned_back(got: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the candidate's array in the reference's order; one of another rank as it is."""
    return got.transpose(np.argsort(layout)) if got.ndim == len(layout) else got
