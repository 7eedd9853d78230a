"""Random numbers that are the same for every backend: NumPy's Philox, keyed by words."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(*key: object) -> np.random.Generator:
    """A generator of its own for each key, such as ``(seed, step, layer path)``.

    Keyed rather than drawn in sequence, so that one more parameter or layer leaves the others' numbers alone.
    """
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
