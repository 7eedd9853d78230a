"""The reference: the NumPy backend in float64; and the yardsticks: the same backend in less."""

from __future__ import annotations

import threading

from ...backend import Backend
from ...registry import get_backend, load_backend_class
from .computations import COMPUTATIONS, Result
from .messages import Request


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
