"""Batch normalization in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .device import from_numpy, here, to_numpy


def batch_norm(X: np.ndarray) -> np.ndarray:
    layer = torch.nn.BatchNorm1d(X.shape[1], device=here())
    layer.train()
    return to_numpy(layer(from_numpy(X)))


def batch_norm_called(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.nn.BatchNorm1d(X.shape[1], device=here())(from_numpy(X)))


def batch_norm_state(X: np.ndarray, **momentum: Any) -> tuple[Any, Any]:
    layer = torch.nn.BatchNorm1d(X.shape[1], **momentum, device=here())
    layer(from_numpy(X))
    assert layer.running_mean is not None and layer.running_var is not None
    return to_numpy(layer.running_mean), to_numpy(layer.running_var)


def batch_norm_forward(X: np.ndarray) -> Any:
    return batch_norm_state(X)[0]
