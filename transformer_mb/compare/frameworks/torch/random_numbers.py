"""torch.nn, torch.nn.init and torch's generator of the CPU."""

from __future__ import annotations

import numpy as np
import torch


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    torch.manual_seed(seed)
    layer = torch.nn.Linear(inputs, outputs)
    return layer.weight.detach().numpy(), layer.bias.detach().numpy()


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    return torch.nn.Embedding(vocabulary, size).weight.detach().numpy()


def truncated_normal(deviation: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    return torch.nn.init.trunc_normal_(torch.empty(shape), std=deviation).numpy()


def initialized_twice(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    initialize = torch.nn.init.xavier_uniform_
    return initialize(torch.empty(shape)).numpy(), initialize(torch.empty(shape)).numpy()


def uniform(seed: int, count: int) -> np.ndarray:
    torch.manual_seed(seed)
    return torch.rand(count).numpy()


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    torch.manual_seed(seed)
    return torch.rand(count).numpy(), torch.rand(count).numpy()


def normal(seed: int, count: int) -> np.ndarray:
    torch.manual_seed(seed)
    return torch.randn(count).numpy()


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    return torch.nn.Dropout(rate).train(training)(torch.from_numpy(X)).numpy()
