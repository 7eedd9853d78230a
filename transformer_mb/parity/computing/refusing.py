"""Wrong inputs, and whether a backend refuses them in our words, before it computes with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import Backend
from ...columns.messages import Arrays
from ...errors import TransformerMBError
from .making import Spec
from .messages import under, with_arrays


def refused(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return for each of the ``wrong`` by its name whether it was refused: 1, else 0. What the framework raises is raised."""
    kind = "float64" if backend.dtype == "float64" else "float32"
    return {name: np.array(_is_refused(backend, each, under(name, arrays)), kind) for name, each in spec["wrong"].items()}


def _is_refused(backend: Backend, each: dict[str, Any], arrays: Arrays) -> bool:
    call = {"training": each["training"], **({"dropout_masks": masks} if (masks := under("masks", arrays)) else {})}
    try:
        native = backend.layer(each["layer"], *each["arguments"], **each["options"])
        if each["inputs"]:
            backend.apply(native, *with_arrays(each["inputs"], arrays), **call)
    except TransformerMBError:
        return True
    return False
