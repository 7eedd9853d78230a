"""Normalization over the last axis, variance and deviation in torch."""

from __future__ import annotations

import numpy as np
import torch


def layer_norm(X: np.ndarray) -> np.ndarray:
    return torch.nn.LayerNorm(X.shape[-1])(torch.from_numpy(X)).detach().numpy()


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    x = torch.from_numpy(X)
    return torch.nn.LayerNorm(X.shape[-1], dtype=x.dtype)(x).detach().numpy()


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    return torch.nn.LayerNorm(number)(torch.from_numpy(X)).detach().numpy()


def rms_norm(X: np.ndarray) -> np.ndarray:
    x = torch.from_numpy(X)
    return torch.nn.RMSNorm(X.shape[-1], dtype=x.dtype)(x).detach().numpy()


def variance(X: np.ndarray) -> float:
    return torch.from_numpy(X).var().item()


def deviation(X: np.ndarray) -> float:
    return torch.from_numpy(X).std().item()
