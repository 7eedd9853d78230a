"""The derivative of a layer's output along a direction of its inputs, taken forwards as each framework does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...backend import Backend
from ...columns.messages import Arrays
from ...native_backend import NativeBackend
from .making import Spec, layer_of
from .messages import under, with_arrays


def forwards(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """A layer's derivative, of its ``output``'s shape, along a ``direction`` for each of its inputs that is of floats."""
    layer, inputs = layer_of(backend, spec, arrays), with_arrays(spec["inputs"], arrays)
    call = {name: with_arrays(value, arrays) for name, value in spec["call"].items()}
    direction = {int(number): value for number, value in under("direction", arrays).items()}
    if not isinstance(backend, NativeBackend) or backend._forwards is None:
        return {"output": _by_numbers(backend, layer, inputs, direction, call)}
    native, options = backend._tensors((inputs, call))

    def compute(layer: Any, *given: Any) -> Any:
        of_number = dict(zip(direction, given, strict=True))
        return backend._call(layer, [of_number.get(number, value) for number, value in enumerate(native)], options, False)

    with backend._running(layer):
        where, along = [native[number] for number in direction], backend._tensors(list(direction.values()))
        return {"output": backend._numpy(backend._forwards(layer, compute, where, along))}


def _by_numbers(backend: Backend, layer: Any, inputs: list[Any], direction: Mapping[int, np.ndarray], call: Spec) -> np.ndarray:
    """Differentiate backwards, by one number of the output after the other."""
    derivative = np.zeros_like(backend.apply(layer, *inputs, **call))
    for number in range(derivative.size):
        one = np.zeros_like(derivative)
        one.flat[number] = 1.0
        by_input = backend.gradients(layer, inputs, one, **call)[1]
        derivative.flat[number] = sum((by_input[place] * along).sum() for place, along in direction.items())
    return derivative
