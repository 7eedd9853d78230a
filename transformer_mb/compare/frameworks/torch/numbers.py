"""torch's operations on tensors of the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch


def returned(X: np.ndarray) -> np.ndarray:
    return torch.from_numpy(X).numpy()


def from_python(values: Sequence[float]) -> np.ndarray:
    return torch.tensor(values).numpy()


def arange(count: int) -> np.ndarray:
    return torch.arange(count).numpy()


def add(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (torch.from_numpy(X) + torch.from_numpy(Y)).numpy()


def add_number(X: np.ndarray, number: float) -> np.ndarray:
    return (torch.from_numpy(X) + number).numpy()


def divide(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return (torch.from_numpy(X) / torch.from_numpy(Y)).numpy()


def total(X: np.ndarray) -> np.ndarray:
    return torch.sum(torch.from_numpy(X)).numpy()


def mean(X: np.ndarray) -> np.ndarray:
    return torch.mean(torch.from_numpy(X)).numpy()


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    """In the dtype, and back in float32."""
    first, second = (torch.from_numpy(array).to(getattr(torch, dtype)) for array in (X, Y))
    return (first @ second).float().numpy()


def follows_array(X: np.ndarray) -> bool:
    """Whether a change of the array is seen in the tensor that from_numpy made of it."""
    tensor = torch.from_numpy(X)
    X[0] += 1
    return bool(tensor[0] == X[0])


def follows_tensor(X: np.ndarray) -> bool:
    """Whether a change of what numpy() gives is seen in the tensor."""
    tensor = torch.tensor(X)
    array = tensor.numpy()
    array[0] += 1
    return bool(tensor[0] == array[0])
