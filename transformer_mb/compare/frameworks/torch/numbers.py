"""torch's operations on tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from .device import from_numpy, here, to_numpy


def returned(X: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X))


def from_python(values: Sequence[float]) -> np.ndarray:
    return to_numpy(torch.tensor(values, device=here()))


def arange(count: int) -> np.ndarray:
    return to_numpy(torch.arange(count, device=here()))


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X) + from_numpy(Y))


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return to_numpy(from_numpy(X) + number)


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X) / from_numpy(Y))


def total(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.sum(from_numpy(X)))


def mean(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.mean(from_numpy(X)))


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    first, second = (from_numpy(array).to(getattr(torch, dtype)) for array in (X, Y))
    return to_numpy((first @ second).float())


def follows_array(X: np.ndarray) -> bool:
    """Whether a change of the array is seen in the tensor that from_numpy made of it."""
    tensor = from_numpy(X)
    X[0] += 1
    return bool(tensor[0] == X[0])


def follows_tensor(X: np.ndarray) -> bool:
    """Whether a change of what numpy() gives is seen in the tensor."""
    tensor = torch.tensor(X, device=here())
    array = to_numpy(tensor)
    array[0] += 1
    return bool(tensor[0] == array[0])
