"""The reference: the NumPy backend in float64; and the yardsticks: the same backend in less."""

from __future__ import annotations

import threading

import numpy as np

from ..backend import Backend
from ..random_streams import stream
from ..registry import get_backend, load_backend_class
from ..rounding import rounded
from .computations import COMPUTATIONS, Result
from .messages import Request
from .verdict import EPS


class Oracle:
    """Runs requests in this process; only NumPy is imported for it."""

    def __init__(self) -> None:
        self.exactly = get_backend("numpy", dtype="float64")
        self.singly = get_backend("numpy", dtype="float32")
        self.lock = threading.Lock()  # the NumPy backend's switches are those of the process

    def exact(self, request: Request) -> Result:
        return self._run(self.exactly, request)

    def measured(self, request: Request) -> Result:
        """What the yardstick's arithmetic makes of it: float32, or float32 with every result rounded further."""
        if request.dtype in ("float64", "float32"):
            return self._run(self.singly, request)
        rounding = load_backend_class("numpy")(dtype="float32", rounded_to=request.dtype)  # type: ignore[call-arg]
        return self._run(rounding, request)

    def _run(self, backend: Backend, request: Request) -> Result:
        with self.lock:
            return COMPUTATIONS[request.computation](backend, request.spec, request.arrays)


def twin(request: Request, number: int) -> Request:
    """The request with every float off by one unit in the last place of its dtype, up or down at random."""
    signs = stream("twin", number)
    arrays = {name: _nudge(value, request.dtype, signs) for name, value in request.arrays.items()}
    return Request(request.computation, request.dtype, request.spec, rounded_arrays(arrays, request.dtype))


def _nudge(array: np.ndarray, dtype: str, signs: np.random.Generator) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    array = array.astype(np.float64)
    return array + EPS[dtype] * np.abs(array) * signs.choice([-1.0, 1.0], array.shape)


def rounded_arrays(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Floats rounded to the dtype, so that every backend and the oracle start from the same numbers."""
    return {name: rounded(np.asarray(value), dtype) for name, value in arrays.items()}
