"""paddle.nn.functional.softmax and linear."""

from __future__ import annotations

import numpy as np
import paddle
from paddle.nn import functional as F

ABSENT = {"masked_softmax": "Paddle's masked softmax adds the numbers that it is given."}


def softmax(X: np.ndarray) -> np.ndarray:
    return F.softmax(paddle.to_tensor(X)).numpy()


def linear(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return F.linear(paddle.to_tensor(X), paddle.to_tensor(weight)).numpy()
