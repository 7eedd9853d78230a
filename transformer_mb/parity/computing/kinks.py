"""Units of a ReLU that float32 may put on either side of its kink: with each of them on either side a gradient is right.

ReLU's slope jumps at zero. Of 160,000 inputs one lies within float32's rounding of zero in every fifth case, and a sum in
another order may take it to the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import reference
from .computations import Answer
from .messages import Request
from .plain import plain_backend

REACH = 4.0  # times the root mean square of NumPy's own errors in the same inputs: as far as float32's limits let an error go


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


def _run(request: Request, dtype: str, flipped: Collection[Unit] = ()) -> tuple[Answer, list[np.ndarray]]:
    watch = _Watch(flipped)
    made: Any = type("WatchedReference", (_Watched, type(plain_backend())), {"watch": watch})
    return reference.run(made(dtype=dtype), reference.plain_request(request)), watch.seen
