"""The dtypes in which a framework gave its outputs: asked of its own tensors, before they become NumPy arrays.

bfloat16 and float16 come as float32 arrays, so that from the arrays alone nobody could tell what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...backend import Backend
from ...checks import spelled
from .messages import Arrays, named, under

OUTPUTS = ("output", "output_with_gradient", "states", "logits", "pooled", "attention")
PREFIX = "dtype"
DtypeOf = Callable[[np.ndarray], str]
# Arrays and the names of their native dtypes, by id; the arrays stay alive, so that no other gets the id of one.
Seen = dict[int, tuple[np.ndarray, str]]
_SEEN: ContextVar[Seen] = ContextVar("what the backend that computes has made")


@contextmanager
def recorded_dtypes(backend: Backend) -> Iterator[DtypeOf]:
    """Yield a function that names the native dtype of an array that the backend has made inside.

    Of an array that was no tensor of the framework's it is the array's own.
    """
    seen: Seen = {}
    convert = getattr(backend, "_numpy", None)

    def recording(leaf: Any) -> Any:
        array = convert(leaf)  # type: ignore[misc]
        if isinstance(array, np.ndarray):
            seen[id(array)] = array, spelled(leaf.dtype)
        return array

    if convert is not None:
        vars(backend)["_numpy"] = recording
    before = _SEEN.set(seen)
    try:
        yield lambda array: _name(seen, array)
    finally:
        _SEEN.reset(before)
        vars(backend).pop("_numpy", None)


def _name(seen: Seen, array: np.ndarray) -> str:
    return seen[id(array)][1] if id(array) in seen else array.dtype.name


def made_of(parts: Iterable[np.ndarray], array: np.ndarray) -> np.ndarray:
    """``array``, which was put together from what the backend has made: it is recorded with the dtype of the parts."""
    seen = _SEEN.get()
    seen[id(array)] = array, " and ".join(dict.fromkeys(_name(seen, part) for part in parts))
    return array


def with_dtypes(answer: Arrays, dtype_of: DtypeOf) -> dict[str, np.ndarray]:
    """The answer and, for each of its outputs, the name of its native dtype, as an array of characters."""
    names = {
        name: np.frombuffer(dtype_of(answer[name]).encode(), np.uint8) for name in answer if name.partition(".")[0] in OUTPUTS
    }
    return {**answer, **named(PREFIX, names)}


def native_dtypes(answer: Arrays) -> dict[str, str]:
    """Return by output what ``with_dtypes`` added."""
    return {name: value.tobytes().decode(errors="replace") for name, value in under(PREFIX, answer).items()}
