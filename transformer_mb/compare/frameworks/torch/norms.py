"""Normalization over the last axis, variance and deviation in torch."""

from __future__ import annotations

import numpy as np
import torch

from .device import from_numpy, here, to_numpy


def layer_norm(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.nn.LayerNorm(X.shape[-1], device=here())(from_numpy(X)))


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    x = from_numpy(X)
    return to_numpy(torch.nn.LayerNorm(X.shape[-1], dtype=x.dtype, device=here())(x))


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    return to_numpy(torch.nn.LayerNorm(number, device=here())(from_numpy(X)))


def rms_norm(X: np.ndarray) -> np.ndarray:
    x = from_numpy(X)
    return to_numpy(torch.nn.RMSNorm(X.shape[-1], dtype=x.dtype, device=here())(x))


def variance(X: np.ndarray) -> float:
    return from_numpy(X).var().item()


def deviation(X: np.ndarray) -> float:
    return from_numpy(X).std().item()
