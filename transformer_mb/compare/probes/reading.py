"""Words for answers of probes: numbers, and rows of weights read from one-hot values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..facts import Value

NEAR = 1e-3  # between two of these words lies more; Paddle's softmax never reaches zero


def rounded(value: float, digits: int) -> float:
    """Round to significant digits, which recovers a setting that is exact in that many."""
    return float(f"{value:.{digits - 1}e}")


def worded(value: float, digits: int) -> Value:
    """Round to significant digits, -0.0 as 0.0; NaN and infinity become words."""
    if math.isnan(value):
        return "NaN"
    return "infinite" if math.isinf(value) else rounded(value, digits) + 0.0


def sort_of(value: float, otherwise: str) -> str:
    """Return "NaN", "zero" or "infinite", and ``otherwise`` for any other number."""
    return "NaN" if math.isnan(value) else "zero" if value == 0.0 else "infinite" if math.isinf(value) else otherwise


def named(value: Any, names: Mapping[str, Any], otherwise: str = "neither", within: float = 1e-4) -> str:
    """Return the first name whose number, or array, lies within that of the value."""
    return next((name for name, one in names.items() if np.allclose(value, one, rtol=0.0, atol=within)), otherwise)


def mean(values: Any) -> float:
    return float(np.mean(np.asarray(values, np.float64)))


def float32(*values: float) -> np.ndarray:
    """Make a float32 array [n]."""
    return np.array(values, "float32")


def dtype_name(values: Any) -> str:
    return str(np.asarray(values).dtype)


def first_number(values: Any) -> str:
    """Return the first number to 12 digits; of a complex one the real part."""
    return f"{float(np.asarray(values).real.flat[0]):.12g}"


def blank(T: int, S: int, size: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make zero queries [1, T, 1, D] and keys [1, S, 1, D], and one-hot values, so that the output is the weights."""
    size = size or S
    values = np.broadcast_to(np.eye(S, size, dtype="float32")[None, :, None], (1, S, 1, size)).copy()
    return np.zeros((1, T, 1, size), "float32"), np.zeros((1, S, 1, size), "float32"), values


def spread(row: np.ndarray) -> str:
    """Name how a row without any key to attend to spreads its weights."""
    if np.isnan(row).any():
        return "NaN"
    if np.isinf(row).any():
        return "infinity"
    names = {"zeros": 0.0, "uniform": row.mean(), "the first key": row[0] * np.eye(len(row))[0]}
    return named(row, names, "other weights", NEAR)


def reading(row: np.ndarray, marked: int) -> str:
    """Name the effect of the one number set in a mask, at ``marked``, on equal scores."""
    mask = np.eye(len(row))[marked]
    words = {
        "set attends": mask,
        "set is ignored": 1.0 - mask,
        "added to the scores": np.exp(mask),
        "no effect": np.ones(len(row)),
        "set attends to the next": np.roll(mask, 1),
    }
    shares = {word: weights / weights.sum() for word, weights in words.items()}
    return named(row, shares, "NaN" if np.isnan(row).any() else "other weights", NEAR)


def bits(alone: np.ndarray, among: np.ndarray) -> str:
    """Name how far two computations of one row agree."""
    if np.array_equal(alone, among):
        return "same bits"
    return "rounding differs" if np.allclose(alone, among, rtol=1e-3, atol=1e-3) else "another row"


def found(row: np.ndarray, table: np.ndarray) -> str:
    """Name the row of a table that came for an index out of range."""
    names = {"the last row": table[-1], "the first row": table[0], "the second row": table[1], "zeros": np.zeros_like(row)}
    return "NaN" if np.isnan(row).all() else named(row, names, "memory beside the table")


def row_at(read: Callable[[int], np.ndarray], index: int, table: np.ndarray) -> str:
    """Name the row that comes for an index out of range, zeros only where the three beyond are zeros too.

    Memory beside a table may hold some by chance, also where only this index goes unchecked and those beyond it are refused.
    """
    word, step = found(read(index), table), 1 if index > 0 else -1
    if word != "zeros":
        return word
    try:
        beyond = [found(read(index + step * further), table) for further in (1, 2, 3)]
    except Exception:
        beyond = ["refused"]
    return word if set(beyond) == {word} else "memory beside the table"
