"""Where torch computes: where tensors and layers are made, which are told it one by one.

torch.set_default_device would tell them all, but puts a mode around every call, in which nn.TransformerEncoder has another way.
"""

from __future__ import annotations

import numpy as np
import torch

_chosen = {"device": torch.device("cpu")}


def default() -> str:
    return "cpu"


def use(device: str) -> None:
    _chosen["device"] = torch.device(device)


def here() -> torch.device:
    return _chosen["device"]


def from_numpy(X: np.ndarray) -> torch.Tensor:
    """With the memory of ``X``, where that is the device's."""
    return torch.from_numpy(X).to(here())


def to_numpy(X: torch.Tensor) -> np.ndarray:
    """Likewise."""
    return X.detach().cpu().numpy()
