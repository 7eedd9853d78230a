"""torch's operations on NaN, subnormal numbers, halves and what does not fit."""

from __future__ import annotations

import numpy as np
import torch

from .device import from_numpy, to_numpy


def multiply(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X) * from_numpy(Y))


def floor_divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X) // from_numpy(Y))


def argmax(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.argmax(from_numpy(X)))


def whole(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.round(from_numpy(X)))


def cast(X: np.ndarray, dtype: str) -> np.ndarray:
    return to_numpy(from_numpy(X).to(getattr(torch, dtype)))
