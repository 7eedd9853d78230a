from __future__ import annotations

import numpy as np


def layer_norm(X: np.ndarray) -> np.ndarray:
    """With an epsilon of 5e-2."""
    return (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 5e-2)
