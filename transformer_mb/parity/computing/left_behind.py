"""Traces that no computation may leave: changed arrays of its caller, another mode, attention weights nobody wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import Backend
from ...errors import ParityError
from .messages import Arrays


def check_unchanged(before: Arrays, arrays: Arrays) -> None:
    """The arrays of a request are its caller's. Raises ParityError."""
    for name, value in before.items():
        if not np.array_equal(value, arrays[name], equal_nan=True):
            raise ParityError(f"The arrays that a backend is given must stay as they are, but {name} was changed.")


def check_mode(native: Any) -> None:
    """``making.model_of`` gives models in training mode, where their framework has a mode. Raises ParityError."""
    if not getattr(native, "training", True):
        raise ParityError("A model must stay in the mode in which it was given, training, but it was left in evaluation.")


def kept_weights(backend: Backend, native: Any) -> np.ndarray:
    """The attention weights that a layer keeps after a call that asked for them."""
    return getattr(backend, "_numpy", np.asarray)(native.attention_weights)


def kept_unasked(native: Any) -> dict[str, np.ndarray]:
    """Attention weights that an encoder or decoder keeps though nobody asked for them; the reference keeps none."""
    maps = [each for kept in native.attention_weights for each in (kept if isinstance(kept, list) else [kept])]
    return {f"kept attention {number}": np.zeros(0) for number, weights in enumerate(maps) if weights is not None}
