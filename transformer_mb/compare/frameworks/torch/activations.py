"""Activations in torch."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from .device import from_numpy, here, to_numpy


def gelu(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.gelu(from_numpy(X)))


def gelu_layer(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.nn.GELU()(from_numpy(X)))


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.leaky_relu(from_numpy(X)))


def leaky_relu_layer(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.nn.LeakyReLU()(from_numpy(X)))


def prelu_layer(X: np.ndarray) -> np.ndarray:
    return to_numpy(torch.nn.PReLU(device=here())(from_numpy(X)))


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.hardsigmoid(from_numpy(X)))


def elu(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.elu(from_numpy(X)))


def softplus(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.softplus(from_numpy(X)))


def relu(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.relu(from_numpy(X)))
