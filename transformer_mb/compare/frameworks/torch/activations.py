"""Activations in torch."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F


def gelu(X: np.ndarray) -> np.ndarray:
    return F.gelu(torch.from_numpy(X)).numpy()


def gelu_layer(X: np.ndarray) -> np.ndarray:
    return torch.nn.GELU()(torch.from_numpy(X)).numpy()


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return F.leaky_relu(torch.from_numpy(X)).numpy()


def leaky_relu_layer(X: np.ndarray) -> np.ndarray:
    return torch.nn.LeakyReLU()(torch.from_numpy(X)).numpy()


def prelu_layer(X: np.ndarray) -> np.ndarray:
    return torch.nn.PReLU()(torch.from_numpy(X)).detach().numpy()


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    return F.hardsigmoid(torch.from_numpy(X)).numpy()


def elu(X: np.ndarray) -> np.ndarray:
    return F.elu(torch.from_numpy(X)).numpy()


def softplus(X: np.ndarray) -> np.ndarray:
    return F.softplus(torch.from_numpy(X)).numpy()


def relu(X: np.ndarray) -> np.ndarray:
    return F.relu(torch.from_numpy(X)).numpy()
