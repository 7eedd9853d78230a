"""torch.nn, torch.nn.init and torch's generator of the device."""

from __future__ import annotations

import numpy as np
import torch

from .device import from_numpy, here, to_numpy


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    torch.manual_seed(seed)
    layer = torch.nn.Linear(inputs, outputs, device=here())
    return to_numpy(layer.weight), to_numpy(layer.bias)


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    return to_numpy(torch.nn.Embedding(vocabulary, size, device=here()).weight)


def truncated_normal(deviation: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    return to_numpy(torch.nn.init.trunc_normal_(torch.empty(shape, device=here()), std=deviation))


def initialized_twice(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    initialize = torch.nn.init.xavier_uniform_
    return to_numpy(initialize(torch.empty(shape, device=here()))), to_numpy(initialize(torch.empty(shape, device=here())))


def uniform(seed: int, count: int) -> np.ndarray:
    torch.manual_seed(seed)
    return to_numpy(torch.rand(count, device=here()))


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    torch.manual_seed(seed)
    return to_numpy(torch.rand(count, device=here())), to_numpy(torch.rand(count, device=here()))


def normal(seed: int, count: int) -> np.ndarray:
    torch.manual_seed(seed)
    return to_numpy(torch.randn(count, device=here()))


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    return to_numpy(torch.nn.Dropout(rate).train(training)(from_numpy(X)))
