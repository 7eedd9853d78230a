"""torch.nn.functional.softmax and linear, and torch.masked.softmax."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from .device import from_numpy, here, to_numpy


def softmax(X: np.ndarray) -> np.ndarray:
    return to_numpy(F.softmax(from_numpy(X)))


def masked_softmax(scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    within = torch.arange(scores.shape[-1], device=here()) < from_numpy(lengths)[..., None]
    return to_numpy(torch.masked.softmax(from_numpy(scores), -1, mask=within))


def linear(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return to_numpy(F.linear(from_numpy(X), from_numpy(weight.T.copy())))
