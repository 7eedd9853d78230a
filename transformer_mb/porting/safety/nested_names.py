"""Nested dictionaries of arrays, flat: the names of the levels joined by ``/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import PortError
from .raw_arrays import check_name

DEEPEST = 40


def flattened(tree: Any, what: str, prefix: str = "", depth: int = 0) -> dict[str, np.ndarray]:
    if isinstance(tree, np.ndarray):
        return {prefix: tree}
    if not isinstance(tree, Mapping):
        raise PortError(f"{what} must hold arrays by name, but {prefix or 'it'!r:.80} holds a {type(tree).__name__}.")
    if depth > DEEPEST:
        raise PortError(f"{what} nests its names too deeply.")
    found: dict[str, np.ndarray] = {}
    for name, value in tree.items():
        full = f"{prefix}/{name}" if prefix else str(name)
        check_name(full, what)  # here, since a long level above many others would make many long names of it
        found.update(flattened(value, what, full, depth + 1))
    return found


def nested(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *levels, last = name.split("/")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        place[last] = array
    return tree
