"""The reference: the NumPy backend in float64, and what the same backend makes of a request in less."""

from __future__ import annotations

import threading

from ...backend import Backend
from ...registry import get_backend, load_backend_class
from .computations import COMPUTATIONS, Answer
from .messages import Request


class Reference:
    """Runs requests in this process; only NumPy is imported for it."""

    def __init__(self) -> None:
        self.float64 = get_backend("numpy", dtype="float64")
        self.float32 = get_backend("numpy", dtype="float32")
        self.lock = threading.Lock()  # the NumPy backend's switches are those of the process

    def answer(self, request: Request) -> Answer:
        """In float64, whatever the dtype of the request."""
        return self.run(self.float64, request)

    def baseline(self, request: Request) -> Answer:
        """In float32, for formats of two bytes with every operation's result rounded to the format."""
        if request.dtype in ("float64", "float32"):
            return self.run(self.float32, request)
        rounding = load_backend_class("numpy")(dtype="float32", rounded_to=request.dtype)  # type: ignore[call-arg]
        return self.run(rounding, request)

    def run(self, backend: Backend, request: Request) -> Answer:
        with self.lock:
            return COMPUTATIONS[request.computation](backend, request.spec, request.arrays)
