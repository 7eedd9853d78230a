"""flax's own reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def load_natively(path: Path) -> dict[str, np.ndarray]:
    from flax import serialization, traverse_util

    tree = serialization.msgpack_restore(path.read_bytes())["params"]
    return {name: np.asarray(value) for name, value in traverse_util.flatten_dict(tree, sep="/").items()}
