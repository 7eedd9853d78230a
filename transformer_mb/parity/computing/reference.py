"""The reference: the NumPy backend in float64, what is shared computed plainly; and what NumPy makes of a request in less.

It computes in this process; only NumPy is imported for it.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import lru_cache

from ...backend import Backend
from ...built_in import PLAIN_DTYPES
from ...registry import load_backend_class
from .computations import Answer, compute
from .messages import Request
from .plain import plain_backend

_LOCK = threading.Lock()  # the NumPy backend's switches are those of the process


@lru_cache
def backend(dtype: str) -> Backend:
    """Return the NumPy backend; in formats of two bytes it is float32 with every operation's result rounded."""
    options = {"dtype": dtype} if dtype in PLAIN_DTYPES else {"dtype": "float32", "rounded_to": dtype}
    return load_backend_class("numpy")(**options)


def answer(request: Request) -> Answer:
    """Answer in float64, whatever the dtype of the request, and with no option that makes a step fast.

    A search with a mistake is one of sessions, which the mistake is made in.
    """
    return run(backend("float64") if request.spec.get("mistake") else plain_backend(), plain_request(request))


def baseline(request: Request, setting: str | None = None) -> Answer:
    """Answer in the request's dtype, but never in more than float32; or in one of NumPy's own ``gpu_settings``."""
    dtype = "float32" if request.dtype == "float64" else request.dtype
    return run(backend(dtype), plain_request(request, ("precision", "dtype"), setting))


def plain_request(request: Request, kept: tuple[str, ...] = (), setting: str | None = None) -> Request:
    """The request with these alone of the options that make a step fast: NumPy compiles nothing, but rounds products."""
    request = request.in_setting(setting)
    if "fast" not in request.spec:
        return request
    fast = {name: value for name, value in request.spec["fast"].items() if name in kept}
    return replace(request, spec={**request.spec, "fast": fast})


def run(backend: Backend, request: Request) -> Answer:
    with _LOCK:
        return compute(backend, request)
