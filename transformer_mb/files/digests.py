"""A digest of tensors, which ties the files of one model to each other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np


def digest(tensors: Mapping[str, np.ndarray]) -> bytes:
    """SHA-256 of names, dtypes, shapes and numbers, whatever their order and layout in memory."""
    digest = hashlib.sha256()
    for name, array in sorted(tensors.items()):
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{name}\0{little.dtype.str}\0{array.shape}\0".encode())
        digest.update(little.tobytes())
    return digest.digest()
