"""The changes that a negative control makes to a request."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...rounding import rounded
from .messages import Request

Alter = Callable[[Request], Request]


def _arrays(name: str, change: Callable[[np.ndarray], np.ndarray], request: Request) -> Request:
    """Return all arrays of the name, or whose path ends with it, as all that one piece of code reads do."""
    found = {path: value for path, value in request.arrays.items() if f".{path}".endswith(f".{name}")}
    assert found, f"an array of the request must be named {name}"
    return replace(request, arrays={**request.arrays, **{path: change(v).astype(v.dtype) for path, v in found.items()}})


def _spec(change: Callable[[dict[str, Any]], dict[str, Any]], request: Request) -> Request:
    return replace(request, spec=change(dict(request.spec)))


def _altering(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[str], Alter]:
    return lambda name: partial(_arrays, name, change)


def _one_number(value: np.ndarray) -> np.ndarray:
    value = value.copy()
    value.flat[value.size // 2] += 1e-2 * np.abs(value).max()
    return value


# By an array's name: one number of a weight, off by a hundredth of the largest; lengths off by one, where that would be one too
# many, one too few; the first number of a mask the other way round.
perturbed = _altering(_one_number)
transposed = _altering(np.transpose)
shifted = _altering(lambda value: np.where(value < value.max(), value + 1, value - 1))
flipped = _altering(lambda value: np.where(np.arange(value.size).reshape(value.shape) == 0, ~value, value))
rolled = _altering(lambda value: np.roll(value, 1, axis=0))


def times(name: str, factor: float) -> Alter:
    return partial(_arrays, name, lambda value: value * factor)


def swapped(first: str, second: str) -> Alter:
    """Exchange two arrays."""

    def alter(request: Request) -> Request:
        arrays = request.arrays
        return replace(request, arrays={**arrays, first: arrays[second], second: arrays[first]})

    return alter


def interleaved(heads: int, few: int) -> Alter:
    """Let head h of queries ask head h % ``few`` of keys, not h // (heads / few): as if heads of queries had changed places."""

    def moved(value: np.ndarray) -> np.ndarray:
        return value.reshape(heads // few, few, -1, *value.shape[1:]).swapaxes(0, 1).reshape(value.shape)

    def alter(request: Request) -> Request:
        return _arrays("W_o.weight", lambda value: moved(value.T).T, _arrays("W_q.weight", moved, request))

    return alter


# The buckets of relative positions before and after a token exchanged, as if distances were counted the other way.
def _turned_round(value: np.ndarray) -> np.ndarray:
    half = len(value) // 2
    return np.concatenate([value[:1], value[half + 1 : 2 * half], value[half : half + 1], value[1:half]])


mirrored = _altering(_turned_round)


def zeroed(prefix: str) -> Alter:
    def alter(request: Request) -> Request:
        changed = {name: value * 0 if name.startswith(prefix) else value for name, value in request.arrays.items()}
        return replace(request, arrays=changed)

    return alter


def in_tf32(request: Request) -> Request:
    """A forgotten switch: on a GPU the factors of products are then rounded to 10 bits, which stands for it here."""
    arrays = {name: rounded(value, "tf32").astype(value.dtype, copy=False) for name, value in request.arrays.items()}
    return replace(request, arrays=arrays)


def specified(changes: Mapping[str, Any]) -> Alter:
    """Other values in the spec."""
    return partial(_spec, lambda spec: {**spec, **changes})


def spoiled(ending: str, factor: float, shift: float = 0.0) -> Alter:
    """Weights as they are made, of all names that end so: see ``made``."""
    return specified({"spoiled": {ending: [factor, shift]}})


def setting(*path: str, value: Any) -> Alter:
    """Put another value in the spec, such as ``options``, ``eps``."""

    def change(spec: dict[str, Any]) -> dict[str, Any]:
        *folders, last = path
        inner = spec
        for folder in folders:
            inner[folder] = dict(inner[folder])
            inner = inner[folder]
        inner[last] = value
        return spec

    return partial(_spec, change)


def sampled(**changes: Any) -> Alter:
    """Other values in each of the samplings."""
    return partial(_spec, lambda spec: {**spec, "samplings": [{**each, **changes} for each in spec["samplings"]]})


def epsilon_hat(request: Request) -> Request:
    options = request.spec["options"]
    beta2 = options.get("betas", (0.9, 0.999))[1]
    eps = options.get("eps", 1e-8) / math.sqrt(1.0 - beta2 ** (request.spec["step_count"] + 1))
    return setting("options", "eps", value=eps)(request)


def coupled(request: Request) -> Request:
    """Weight decay as a part of the gradient, which the moments then hold: L2 regularization."""
    decay = request.spec["options"]["weight_decay"]
    gradients = {
        name: value + (decay * request.arrays[name.replace("gradients.", "weights.", 1)]).astype(value.dtype)
        for name, value in request.arrays.items()
        if name.startswith("gradients.")
    }
    return setting("options", "weight_decay", value=0.0)(replace(request, arrays={**request.arrays, **gradients}))


def position(request: Request) -> Request:
    return replace(request, spec={**request.spec, "inputs": [request.spec["inputs"][0], 2]})


def forgotten_after(operation: str) -> Alter:
    """A life in which what follows the first operation of a kind does nothing."""

    def change(spec: dict[str, Any]) -> dict[str, Any]:
        operations = [*spec["operations"]]
        operations[next(n for n, (name, *_) in enumerate(operations) if name == operation) + 1] = ["nothing"]
        return {**spec, "operations": operations}

    return partial(_spec, change)


def stale_batch(request: Request) -> Request:
    """The last step of a life takes the batch of the step before that had its shape."""
    operations = [*request.spec["operations"]]
    steps = [number for number, (name, *_) in enumerate(operations) if name == "step"]
    name, model, batch = operations[steps[-1]]
    shape = request.arrays[f"batch {batch}.target_in"].shape
    same = [operations[n][2] for n in steps if request.arrays[f"batch {operations[n][2]}.target_in"].shape == shape]
    operations[steps[-1]] = [name, model, next(other for other in same if other != batch)]
    return replace(request, spec={**request.spec, "operations": operations})
