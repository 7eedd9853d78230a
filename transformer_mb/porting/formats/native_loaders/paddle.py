"""Paddle's own reader of a file that we have just written: it unpickles, so it is given no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def load_natively(path: Path) -> dict[str, np.ndarray]:
    import paddle

    loaded = paddle.load(str(path))
    return {name: value.numpy() for name, value in loaded.items() if isinstance(value, paddle.Tensor)}
