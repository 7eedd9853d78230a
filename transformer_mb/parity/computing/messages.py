"""Questions to a worker and its answers: named arrays and a small JSON text; rounded to a dtype, off by its last place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...backend import Backend
from ...built_in import PLAIN_DTYPES
from ...checks import spelled
from ...columns.messages import Arrays, pack_arrays, unpack_arrays
from ...random_streams import stream
from ...rounding import rounded


@dataclass(frozen=True)
class Request:
    """A computation to be done by a backend.

    Args:
        computation: a name of ``computations.COMPUTATIONS``.
        dtype: in which the backend computes; the arrays come rounded to it, so that the reference can start from the same.
        spec: what is no array; JSON values only.
        arrays: floats as float64 or float32, ids as int64, masks as bool.
    """

    computation: str
    dtype: str
    spec: Mapping[str, Any]
    arrays: Arrays = field(default_factory=dict)

    def in_setting(self, setting: str | None) -> Request:
        """Return the same, computed in one of ``Backend.gpu_settings`` or with tiny thresholds; None: as it is."""
        return replace(self, spec={**self.spec, "setting": setting})

    def pack(self) -> tuple[str, bytes]:
        return json.dumps([self.computation, self.dtype, self.spec]), pack_arrays(self.arrays)

    @classmethod
    def unpack(cls, text: str, data: bytes) -> Request:
        computation, dtype, spec = json.loads(text)
        return cls(computation, dtype, spec, unpack_arrays(data))


def under(prefix: str, arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays whose name starts with ``prefix.``, by the rest of their name."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}


def named(prefix: str, arrays: Arrays) -> dict[str, np.ndarray]:
    """The reverse of ``under``."""
    return {f"{prefix}.{name}": value for name, value in arrays.items()}


def without_arrays(tree: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A nesting with its arrays moved into ``arrays``, and references in their places; an array that is there has its name."""
    if isinstance(tree, np.ndarray):
        known = next((key for key, value in arrays.items() if value is tree), name)
        arrays[known] = tree
        return {"array": known}
    if isinstance(tree, list | tuple):
        return [without_arrays(item, f"{name}.{i}", arrays) for i, item in enumerate(tree)]
    return tree


def with_arrays(tree: Any, arrays: Arrays) -> Any:
    """The reverse of ``without_arrays``."""
    if isinstance(tree, dict):
        return arrays[tree["array"]]
    if isinstance(tree, list):
        return [with_arrays(item, arrays) for item in tree]
    return tree


IN_FLOAT32 = ("MaskedSoftmaxCELoss",)  # layers that are never computed in less
SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}  # above zero
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "tf32": 2.0**-10, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def rounded_arrays(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Floats rounded to the dtype, so that every backend and the reference start from the same numbers."""
    return {name: rounded(np.asarray(value), dtype) for name, value in arrays.items()}


def computed_in(request: Request) -> str:
    """The request's dtype, but float32 for what the contract has never in less: the loss of given logits, and an update."""
    least = request.computation == "update" or request.spec.get("layer") in IN_FLOAT32
    return "float32" if least and request.dtype not in PLAIN_DTYPES else request.dtype


def before_rounding(got: np.ndarray, exact: np.ndarray, dtype: str) -> np.ndarray:
    """Return, of all numbers that round to ``got`` in a format of two bytes, those nearest to the exact ones.

    So what was computed in float32 and rounded once is held to float32: the exact result itself comes back where it rounds
    to ``got``, a bound of the interval that does where it does not.
    """
    got = np.asarray(got, np.float64)
    _, exponents = np.frexp(got)
    half = 0.5 * np.maximum(np.ldexp(EPS[dtype], exponents - 1), SMALLEST[dtype])
    return np.clip(exact, got - half, got + half)


def perturbed_copy(request: Request, number: int) -> Request:
    """The request with every float off by one unit in the last place of its dtype, up or down at random."""
    signs = stream("twin", number)
    arrays = dict(request.arrays)
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
            arrays[name] = array + EPS[request.dtype] * np.abs(array) * signs.choice([-1.0, 1.0], array.shape)
    return replace(request, arrays=rounded_arrays(arrays, request.dtype))


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
