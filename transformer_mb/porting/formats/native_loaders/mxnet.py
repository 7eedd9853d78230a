"""MXNet's own reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def load_natively(path: Path) -> dict[str, np.ndarray]:
    from mxnet import npx

    return {name: value.asnumpy() for name, value in npx.load(str(path)).items()}
