"""What a pickle of arrays may name, and the values that do nothing which stand for it: what numpy itself writes, exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PortError
from .raw_arrays import array_from_bytes, dtype_of


@dataclass(frozen=True)
class Name:
    """Something that the pickle names: it is not looked up."""

    path: str


@dataclass
class Array:
    array: np.ndarray | None = None

    def build(self, state: Any) -> int:
        """numpy's (version, shape, dtype, Fortran order, bytes); returns how many bytes it takes."""
        if not (type(state) is tuple and len(state) == 5 and _is(state[0], 1) and type(state[1]) is tuple):
            raise PortError("An array's state must be its version, shape, dtype, order and bytes, got something else.")
        _, shape, dtype, fortran, raw = state
        if type(dtype) is not Dtype or type(raw) is not bytes or type(fortran) is not bool or self.array is not None:
            raise PortError("An array's numbers must be bytes of a dtype, once, got something else.")
        self.array = array_from_bytes(raw, dtype.dtype, shape, "of the pickle", fortran)
        return self.array.nbytes


@dataclass
class Dtype:
    dtype: np.dtype

    def build(self, state: Any) -> int:
        """numpy's (version, byte order, subdtype, names, fields, size, alignment, flags), as they are for a plain number."""
        if not (type(state) is tuple and len(state) == 8 and state[1] in ("<", "|") and _are(state[2:5], None)):
            raise PortError("A dtype's state must say little-endian and no fields, got something else.")
        if not (_is(state[0], 3) and _are(state[5:7], -1) and _is(state[7], 0)):
            raise PortError("A dtype's state must be a plain number's, got something else.")
        return 0


def _is(value: Any, expected: int | None) -> bool:
    return type(value) is type(expected) and value == expected


def _are(values: tuple[Any, ...], expected: int | None) -> bool:
    return all(_is(value, expected) for value in values)


def _new_array(arguments: tuple[Any, ...]) -> Array:
    """What numpy builds an array from: the class, no numbers yet, of bytes."""
    kind, shape, code = arguments if len(arguments) == 3 else ("", "", "")
    right = type(kind) is Name and kind.path == "numpy.ndarray" and type(shape) is tuple and len(shape) == 1
    if not right or not _is(shape[0], 0) or type(code) not in (bytes, str) or code not in (b"b", "b"):
        raise PortError("An array must begin as numpy's, empty and of bytes, got something else.")
    return Array()


def _new_dtype(arguments: tuple[Any, ...]) -> Dtype:
    """numpy's (code, align, copy)."""
    if len(arguments) != 3 or type(arguments[0]) is not str or any(type(flag) not in (bool, int) for flag in arguments[1:]):
        raise PortError("A dtype must be made of its code, got something else.")
    known = {"b1": "bool", **{f"{kind}{size}": f"{name}{8 * size}" for kind, name, size in _SIZES}}
    if arguments[0] == "u2":  # as Paddle writes bfloat16
        return Dtype(np.dtype("uint16"))
    return Dtype(dtype_of(known.get(arguments[0], arguments[0]), "of the pickle"))


def _new_dictionary(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    if arguments:
        raise PortError("An OrderedDict must be made empty and then filled, got something else.")
    return {}


_SIZES = [("f", "float", 2), ("f", "float", 4), ("f", "float", 8), ("u", "uint", 1)]
_SIZES += [("i", "int", 1), ("i", "int", 2), ("i", "int", 4), ("i", "int", 8)]


def _new_tuple(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(arguments) != 1 or type(arguments[0]) not in (tuple, list):
        raise PortError("A tuple must be made of one list, got something else.")
    return tuple(arguments[0])


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    """Bytes as protocol 2 writes them: text whose characters are the bytes."""
    if len(arguments) != 2 or type(arguments[0]) is not str or arguments[1] not in ("latin1",):
        raise PortError("Bytes must be latin1 text, got something else.")
    return arguments[0].encode("latin-1")


ALLOWED: dict[str, Callable[[tuple[Any, ...]], Any] | None] = {
    "numpy.ndarray": None,
    "numpy.dtype": _new_dtype,
    "numpy.core.multiarray._reconstruct": _new_array,
    "numpy._core.multiarray._reconstruct": _new_array,
    "_codecs.encode": _encoded,
    "builtins.tuple": _new_tuple,
    "__builtin__.tuple": _new_tuple,
    "collections.OrderedDict": _new_dictionary,
}
