"""Reads a pickle of nested dictionaries of arrays without unpickling it.

``pickletools`` splits the file into its operations, and the few that such a pickle needs are carried out here on values that
do nothing, which stand for what numpy itself writes, exactly: what a pickle names is never looked up. A name that is not in
``ALLOWED`` ends the reading.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PortError
from .raw_arrays import array_from_bytes, dtype_of, unpacked_limit


@dataclass(frozen=True)
class Name:
    """A name in the pickle: it is not looked up."""

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
    """Check what numpy builds an array from: the class, no numbers yet, of bytes."""
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


VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
VALUES |= {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
REPEATED = {"BINGET", "LONG_BINGET"}
REMEMBERED = {"BINPUT", "LONG_BINPUT", "MEMOIZE"}
SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


MOST_OPERATIONS = 1_000_000  # an array takes fifteen to twenty
LARGEST_KEY = 1 << 31  # whole numbers far apart can be chosen to make a dictionary slow


def read_pickle(data: bytes | bytearray, what: str) -> Any:
    """The nested dictionaries, lists and tuples of ``data`` with NumPy arrays, numbers and texts in them.

    Raises PortError: not a pickle, cut short, or one that names what no such file needs.
    """
    try:
        value = _Machine(what, len(data)).run(_operations(data, what))
        return _finished(value, _Left(MOST_OPERATIONS, unpacked_limit(len(data))))
    except PortError as error:
        raise PortError(str(error) if what in str(error) else f"{what}: {error}") from None
    except (IndexError, TypeError, KeyError, AttributeError, ValueError, RecursionError):
        raise PortError(f"{what} must be a pickle of named arrays, but it is damaged.") from None


def _operations(data: bytes | bytearray, what: str) -> Iterator[tuple[str, Any]]:
    stream = io.BytesIO(data)
    operations = pickletools.genops(stream)
    for _ in range(MOST_OPERATIONS):
        try:
            operation, argument, _ = next(operations)
        except Exception:  # pickletools raises what it meets
            raise PortError(f"{what} must be a pickle of named arrays, but it is damaged or cut short.") from None
        if operation.name == "STOP" and stream.tell() != len(data):
            raise PortError(f"{what} must end with its pickle, but {len(data) - stream.tell()} bytes follow.")
        yield operation.name, argument
    raise PortError(f"{what} must be a pickle of named arrays, but it takes more than {MOST_OPERATIONS} operations: refused.")


class _Machine:
    """Carries the operations out; ``stack`` holds inert values only, those since the last mark.

    Each operation takes time and memory in proportion to what it takes from the stack, or to its own argument.
    """

    def __init__(self, what: str, size: int):
        self.what = what
        self.copied_left = 2 * size  # a pickle that copies one value again and again must not fill the memory
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []  # the stacks before each mark
        self.memo: dict[int, Any] = {}

    def run(self, operations: Iterable[tuple[str, Any]]) -> Any:
        for operation, argument in operations:
            if operation in VALUES:
                self.stack.append(argument)
            elif operation in CONSTANTS:
                self.stack.append(CONSTANTS[operation])
            elif operation in EMPTY:
                self.stack.append(EMPTY[operation]())
            elif operation in SHORT_TUPLES:
                self.stack.append(tuple(self.stack.pop() for _ in range(SHORT_TUPLES[operation]))[::-1])
            elif operation in REMEMBERED:
                self.memo[len(self.memo) if operation == "MEMOIZE" else argument] = self.stack[-1]
            elif operation in REPEATED:
                self.stack.append(self.memo[argument])
            elif operation == "STOP":
                return self.stack.pop()
            elif operation not in ("PROTO", "FRAME"):
                self.special(operation, argument)
        raise PortError(f"{self.what} must be a pickle of named arrays, got one without an end.")

    def special(self, operation: str, argument: Any) -> None:
        if operation == "MARK":
            self.outer.append(self.stack)
            self.stack = []
        elif operation == "TUPLE":
            items = self.since_mark()
            self.stack.append(tuple(items))
        elif operation == "GLOBAL":
            self.name(argument.replace(" ", "."))
        elif operation == "STACK_GLOBAL":
            member, module = self.stack.pop(), self.stack.pop()
            if type(member) is not str or type(module) is not str:
                raise PortError(f"{self.what} must be a pickle of named arrays, but it is damaged.")
            self.name(f"{module}.{member}")
        elif operation == "REDUCE":
            arguments, called = self.stack.pop(), self.stack.pop()
            make = ALLOWED[called.path]
            if make is None or type(arguments) is not tuple:
                raise PortError(f"{self.what} must be a pickle of named arrays, but it calls {called.path}.")
            value = make(arguments)
            self.count(len(value) if type(value) in (bytes, tuple) else 0)
            self.stack.append(value)
        elif operation == "BUILD":
            state = self.stack.pop()
            self.count(self.stack[-1].build(state))
        elif operation in ("SETITEM", "SETITEMS"):
            pairs = [self.stack.pop(), self.stack.pop()][::-1] if operation == "SETITEM" else self.since_mark()
            self.fill(pairs)
        elif operation in ("APPEND", "APPENDS"):
            items = [self.stack.pop()] if operation == "APPEND" else self.since_mark()
            self.stack[-1].extend(items)
        else:
            raise PortError(f"{self.what} must be a pickle of named arrays, but it uses {operation}, which none needs.")

    def name(self, path: str) -> None:
        if path not in ALLOWED:
            raise PortError(
                f"{self.what} would call {path:.80}, which a file of named arrays does not need: refused, and nothing was "
                "executed. Save the state_dict alone, as arrays."
            )
        self.stack.append(Name(path))

    def count(self, copied: int) -> None:
        self.copied_left -= copied
        if self.copied_left < 0:
            raise PortError(f"{self.what} must be a pickle of named arrays, but it unpacks to more than it holds.")

    def since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.outer.pop()
        return items

    def fill(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(pairs) % 2 or not all(map(_is_key, pairs[::2])):
            raise PortError(f"{self.what} must hold dictionaries with names as keys, got something else.")
        target.update(zip(pairs[::2], pairs[1::2], strict=True))


def _is_key(key: Any) -> bool:
    return type(key) is str or (type(key) is int and abs(key) < LARGEST_KEY)


DEEPEST = 20


@dataclass
class _Left:
    """The values and bytes that are left for values that stand in several places: each place counts."""

    values: int
    size: int


def _finished(value: Any, left: _Left, depth: int = 0) -> Any:
    """The value with arrays in place of what stands for them; nesting that a hostile file multiplies is refused."""
    left.values -= 1
    if depth > DEEPEST or left.values < 0:
        raise PortError("The pickle nests its values too deeply.")
    if type(value) is Array:
        if value.array is None:
            raise PortError("An array of the pickle has no numbers.")
        left.size -= value.array.nbytes
        if left.size < 0:
            raise PortError("The arrays of the pickle have more numbers than its file: refused.")
        return value.array
    if type(value) is dict:
        return {key: _finished(item, left, depth + 1) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_finished(item, left, depth + 1) for item in value)
    return value


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """Return the arrays in a dictionary, or Paddle's (name, array); raises PortError for no dictionary."""
    if type(tree) is not dict:
        raise PortError(f"A dictionary of arrays by name was expected, got a {type(tree).__name__}.")
    arrays = {}
    for name, value in tree.items():
        value = value[1] if type(value) is tuple and len(value) == 2 else value
        if isinstance(value, np.ndarray):
            arrays[str(name)] = value
    return arrays
