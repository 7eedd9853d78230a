"""The reference: the NumPy backend in float64, what is shared computed plainly; and what NumPy makes of a request in less.

It computes in this process; only NumPy is imported for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...backend import Backend
from ...built_in import PLAIN_DTYPES
from ...registry import load_backend_class
from .computations import Answer, compute
from .messages import Request
from .plain import plain_backend

T = TypeVar("T")
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


def baseline_at_random(request: Request, number: int) -> Answer:
    """Answer in the request's dtype, each operation's result rounded at random: one draw of rounding errors for each number."""
    with _rounded(request.dtype).rounding_at_random(number):
        return run(_rounded(request.dtype), plain_request(request, ("precision", "dtype")))


def baseline_in_turn(request: Request) -> Answer:
    """Answer in float32, the products' sums of one term after another."""
    with backend("float32").summing_in_turn():  # type: ignore[attr-defined]
        return run(backend("float32"), plain_request(request, ("precision", "dtype")))


@lru_cache
def _rounded(to: str) -> Any:
    """NumPy whose every result is rounded, from one that has more digits."""
    options: dict[str, Any] = {"dtype": "float64" if to == "float32" else "float32", "rounded_to": to}
    return load_backend_class("numpy")(**options)


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


REACH = 4.0  # times the root mean square of NumPy's own errors in the same inputs: as far as float32's limits let an error go
TRIED = 8  # within rounding of a kink, on either side: few cases have more than one


class Unit(NamedTuple):
    """An input of a ReLU: the number of the call in a request, and its flat place there."""

    call: int
    place: int


@dataclass
class _Watch:
    """The inputs of all ReLUs of a backend, call by call; the slopes at ``flipped`` are those of the other side."""

    flipped: Collection[Unit] = ()
    seen: list[np.ndarray] = field(default_factory=list)

    def around(self, value: Callable[..., tuple[np.ndarray, ...]]) -> Callable[..., tuple[np.ndarray, ...]]:
        def watched(X: np.ndarray) -> tuple[np.ndarray, ...]:
            places = [unit.place for unit in self.flipped if unit.call == len(self.seen)]
            self.seen.append(np.array(X))
            Y, side = value(X)
            if places:
                side = side.copy()
                side.flat[places] = np.where(X.flat[places] > 0.0, 0.0, 1.0)
            return Y, side

        return watched


class _Watched:
    """A backend whose ReLUs are watched."""

    watch: _Watch

    def _place(self, module: Any) -> Any:
        for _, layer in module.named_layers():
            if getattr(layer, "name", None) == "relu":
                layer.value = self.watch.around(layer.value)
        return super()._place(module)  # type: ignore[misc]


def near_kinks(request: Request) -> list[Unit]:
    """Return the inputs nearer to zero than float32 can tell, but not zero, where the slope is 0 by contract.

    None where NumPy in float32 asks its ReLUs for something else than the reference does, as after another token was decoded.
    """
    exact, rounded = (_run(request, dtype)[1] for dtype in ("float64", "float32"))
    if [each.shape for each in exact] != [each.shape for each in rounded]:
        return []
    units = []
    for call, (inputs, rounded_inputs) in enumerate(zip(exact, rounded, strict=True)):
        reach = REACH * np.sqrt(np.mean(np.square(rounded_inputs - inputs)))
        units += [Unit(call, int(place)) for place in np.flatnonzero((inputs != 0.0) & (np.abs(inputs) <= reach))]
    return units


def crossed(request: Request, copy: Request) -> list[Unit]:
    """Return the inputs of exact results that are on another side in a copy; none where its ReLUs are asked otherwise."""
    ours, others = (_run(each, "float64")[1] for each in (request, copy))
    if [each.shape for each in ours] != [each.shape for each in others]:
        return []
    pairs = enumerate(zip(ours, others, strict=True))
    return [Unit(call, int(at)) for call, (one, two) in pairs for at in np.flatnonzero((one > 0.0) != (two > 0.0))]


def answer_with(request: Request, flipped: Collection[Unit]) -> Answer:
    """The reference's, where the slopes at these units are those of the kink's other side."""
    return _run(request, "float64", flipped)[0]


def nearer_sides(
    request: Request, units: Sequence[Unit], off: T, errors: Callable[[Answer], T], size: Callable[[T], float]
) -> tuple[list[Unit], T]:
    """Return those of the units whose other side brings the exact answer nearer, and the errors beside that answer.

    Args:
        off: the errors beside the exact answer itself. errors: those beside another one. size: which of two are smaller.
    """
    flipped: list[Unit] = []
    for unit in units[:TRIED]:
        other = errors(answer_with(request, [*flipped, unit]))
        if size(other) < size(off):
            flipped, off = [*flipped, unit], other
    return flipped, off


def _run(request: Request, dtype: str, flipped: Collection[Unit] = ()) -> tuple[Answer, list[np.ndarray]]:
    watch = _Watch(flipped)
    made: Any = type("WatchedReference", (_Watched, type(plain_backend())), {"watch": watch})
    return run(made(dtype=dtype), plain_request(request)), watch.seen
