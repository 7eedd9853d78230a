from __future__ import annotations

import numpy as np
import torch


def layer_norm(X: np.ndarray) -> np.ndarray:
    return torch.nn.LayerNorm(X.shape[-1])(torch.from_numpy(X)).detach().numpy()
