from __future__ import annotations

import numpy as np
import paddle


def layer_norm(X: np.ndarray) -> np.ndarray:
    return paddle.nn.LayerNorm(X.shape[-1])(paddle.to_tensor(X)).numpy()
