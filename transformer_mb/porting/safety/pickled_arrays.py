"""Reads a pickle of nested dictionaries of arrays without unpickling it.

``pickletools`` splits the file into its operations, and the few that such a pickle needs are carried out here on values that
do nothing: what a pickle names is never looked up. A name that is not in ``ALLOWED`` ends the reading.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PortError
from .pickled_values import ALLOWED, Array, Name
from .raw_arrays import unpacked_limit

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
    """What is left for values that stand in several places: each place counts."""

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
    """Those entries of a dictionary that are arrays, or Paddle's (name, array); raises PortError for no dictionary."""
    if type(tree) is not dict:
        raise PortError(f"A dictionary of arrays by name was expected, got a {type(tree).__name__}.")
    arrays = {}
    for name, value in tree.items():
        value = value[1] if type(value) is tuple and len(value) == 2 else value
        if isinstance(value, np.ndarray):
            arrays[str(name)] = value
    return arrays
