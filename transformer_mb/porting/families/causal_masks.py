"""Causal masks that a file holds as buffers: they tell how its layers were called, and are computed here."""

from __future__ import annotations

import numpy as np

from ..model import Arrays
from .stack_layout import flat_table


def causal_masks(tensors: Arrays) -> list[str]:
    """The names of what holds one value above its diagonal and another one elsewhere, whatever these are, or its transpose."""
    return [name for name, array in tensors.items() if _is_causal(flat_table(array))]


def _is_causal(array: np.ndarray) -> bool:
    steps = len(array) if array.ndim else 0
    if array.ndim != 2 or array.shape != (steps, steps) or steps < 2:
        return False
    return any(_is_stepped(one, np.tri(steps, dtype=bool)) for one in (array, array.T))


def _is_stepped(array: np.ndarray, past: np.ndarray) -> bool:
    seen, unseen = array[0, 0], array[0, -1]
    return bool(seen != unseen and np.all(array[past] == seen) and np.all(array[~past] == unseen))
