"""Reads a pickle of nested dictionaries of arrays without unpickling it.

``pickletools`` splits the file into its operations, and the few that such a pickle needs are carried out here on values that
do nothing: what a pickle names is never looked up. A name that is not in ``ALLOWED`` ends the reading.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PortError
from .raw_arrays import array_from_bytes, dtype_of

MARK = object()


@dataclass(frozen=True)
class _Name:
    """Something that the pickle names: it is not looked up."""

    path: str


@dataclass
class _Array:
    array: np.ndarray | None = None

    def build(self, state: Any) -> None:
        """numpy's (version, shape, dtype, Fortran order, bytes)."""
        if not (type(state) is tuple and len(state) == 5 and type(state[1]) is tuple and isinstance(state[2], _Dtype)):
            raise PortError("An array's state must be its version, shape, dtype, order and bytes, but something else came.")
        _, shape, dtype, fortran, raw = state
        if type(raw) is not bytes or type(fortran) is not bool:
            raise PortError("An array's numbers must be bytes, but something else came.")
        self.array = array_from_bytes(raw, dtype.dtype, shape, "of the pickle", fortran)


@dataclass
class _Dtype:
    dtype: np.dtype

    def build(self, state: Any) -> None:
        """numpy's (version, byte order, ...); of a plain number nothing else matters."""
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", "|"):
            raise PortError("A dtype's state must say little-endian, but something else came.")


def _new_dtype(arguments: tuple[Any, ...]) -> _Dtype:
    code = arguments[0] if arguments and type(arguments[0]) is str else "nothing"
    known = {"b1": "bool", **{f"{kind}{size}": f"{name}{8 * size}" for kind, name, size in _SIZES}}
    return _Dtype(dtype_of(known.get(code, code), "of the pickle"))


_SIZES = [("f", "float", 2), ("f", "float", 4), ("f", "float", 8), ("u", "uint", 1)]
_SIZES += [("i", "int", 1), ("i", "int", 2), ("i", "int", 4), ("i", "int", 8)]


def _new_tuple(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(arguments) != 1 or type(arguments[0]) not in (tuple, list):
        raise PortError("A tuple must be made of one list, but something else came.")
    return tuple(arguments[0])


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    """Bytes as protocol 2 writes them: text whose characters are the bytes."""
    try:
        text, encoding = arguments
        return text.encode({"latin1": "latin-1"}[encoding])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PortError("Bytes must come as latin1 text, but something else came.") from None


ALLOWED: dict[str, Callable[[tuple[Any, ...]], Any] | None] = {
    "numpy.ndarray": None,
    "numpy.dtype": _new_dtype,
    "numpy.core.multiarray._reconstruct": lambda arguments: _Array(),
    "numpy._core.multiarray._reconstruct": lambda arguments: _Array(),
    "_codecs.encode": _encoded,
    "builtins.tuple": _new_tuple,
    "__builtin__.tuple": _new_tuple,
    "collections.OrderedDict": lambda arguments: {},
}
VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
VALUES |= {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
REPEATED = {"BINGET", "LONG_BINGET"}
REMEMBERED = {"BINPUT", "LONG_BINPUT", "MEMOIZE"}
SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def read_pickle(data: bytes, what: str) -> Any:
    """The nested dictionaries, lists and tuples of ``data`` with NumPy arrays, numbers and texts in them.

    Raises PortError: not a pickle, cut short, or one that names what no such file needs.
    """
    operations = _operations(data, what)
    try:
        return _finished(_Machine(what, len(data)).run(operations))
    except (IndexError, TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, PortError):
            raise
        raise PortError(f"{what} must be a pickle of named arrays, but it is damaged.") from None


def _operations(data: bytes, what: str) -> list[tuple[str, Any]]:
    stream = io.BytesIO(data)
    try:
        operations = [(operation.name, argument) for operation, argument, _ in pickletools.genops(stream)]
    except Exception:  # pickletools raises what it meets
        raise PortError(f"{what} must be a pickle of named arrays, but it is damaged or cut short.") from None
    if stream.tell() != len(data):
        raise PortError(f"{what} must end with its pickle, but {len(data) - stream.tell()} bytes follow.")
    return operations


class _Machine:
    """Carries the operations out; ``stack`` holds inert values only."""

    def __init__(self, what: str, size: int):
        self.what = what
        self.decoded_left = 2 * size  # a pickle that decodes one text again and again must not fill the memory
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, operations: list[tuple[str, Any]]) -> Any:
        for operation, argument in operations:
            if operation in VALUES:
                self.stack.append(argument)
            elif operation in CONSTANTS:
                self.stack.append(CONSTANTS[operation])
            elif operation in EMPTY:
                self.stack.append(EMPTY[operation]())
            elif operation in SHORT_TUPLES:
                self.stack.append(tuple(self.pop() for _ in range(SHORT_TUPLES[operation]))[::-1])
            elif operation in REMEMBERED:
                self.memo[len(self.memo) if operation == "MEMOIZE" else argument] = self.stack[-1]
            elif operation in REPEATED:
                self.stack.append(self.memo[argument])
            elif operation == "STOP":
                return self.pop()
            elif operation not in ("PROTO", "FRAME"):
                self.special(operation, argument)
        raise PortError(f"{self.what} must be a pickle of named arrays, but it has no end.")

    def special(self, operation: str, argument: Any) -> None:
        if operation == "MARK":
            self.stack.append(MARK)
        elif operation == "TUPLE":
            self.stack.append(tuple(self.since_mark()))
        elif operation == "GLOBAL":
            self.name(argument.replace(" ", "."))
        elif operation == "STACK_GLOBAL":
            member, module = self.pop(), self.pop()
            self.name(f"{module}.{member}")
        elif operation == "REDUCE":
            arguments, called = self.pop(), self.pop()
            make = ALLOWED[called.path]
            if make is None or type(arguments) is not tuple:
                raise PortError(f"{self.what} must be a pickle of named arrays, but it calls {called.path}.")
            self.stack.append(self.within_size(make(arguments)))
        elif operation == "BUILD":
            state = self.pop()
            self.stack[-1].build(state)
        elif operation in ("SETITEM", "SETITEMS"):
            pairs = [self.pop(), self.pop()][::-1] if operation == "SETITEM" else self.since_mark()
            self.fill(pairs)
        elif operation in ("APPEND", "APPENDS"):
            items = [self.pop()] if operation == "APPEND" else self.since_mark()
            self.stack[-1].extend(items)
        elif operation == "INST":
            self.name(argument.replace(" ", "."))
        else:
            raise PortError(f"{self.what} must be a pickle of named arrays, but it uses {operation}, which none needs.")

    def name(self, path: str) -> None:
        if path not in ALLOWED:
            raise PortError(
                f"{self.what} would call {path:.80}, which a file of named arrays does not need: refused, and nothing was "
                "executed. Save the state_dict alone, as arrays."
            )
        self.stack.append(_Name(path))

    def within_size(self, made: Any) -> Any:
        self.decoded_left -= len(made) if type(made) is bytes else 0
        if self.decoded_left < 0:
            raise PortError(f"{self.what} must be a pickle of named arrays, but it unpacks to more than it holds.")
        return made

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is MARK:
            raise PortError(f"{self.what} must be a pickle of named arrays, but it is damaged.")
        return value

    def since_mark(self) -> list[Any]:
        at = max(i for i, value in enumerate(self.stack) if value is MARK)
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def fill(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(pairs) % 2 or not all(type(key) in (str, int) for key in pairs[::2]):
            raise PortError(f"{self.what} must hold dictionaries with names as keys, but something else came.")
        target.update(zip(pairs[::2], pairs[1::2], strict=True))


DEEPEST = 20


def _finished(value: Any, depth: int = 0, budget: list[int] | None = None) -> Any:
    """The value with arrays in place of what stands for them; nesting that a hostile file multiplies is refused."""
    budget = [1_000_000] if budget is None else budget
    budget[0] -= 1
    if depth > DEEPEST or budget[0] < 0:
        raise PortError("The pickle nests its values too deeply.")
    if isinstance(value, _Array):
        if value.array is None:
            raise PortError("An array of the pickle has no numbers.")
        return value.array
    if type(value) is dict:
        return {key: _finished(item, depth + 1, budget) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_finished(item, depth + 1, budget) for item in value)
    return value


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """Those entries of a dictionary that are arrays, or Paddle's (name, array); raises PortError for no dictionary."""
    if type(tree) is not dict:
        raise PortError(f"A dictionary of arrays by name must come, but a {type(tree).__name__} came.")
    found = {}
    for name, value in tree.items():
        value = value[1] if type(value) is tuple and len(value) == 2 else value
        if isinstance(value, np.ndarray):
            found[str(name)] = value
    return found
