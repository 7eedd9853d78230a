"""Rows of a table, functions of NumPy arrays, made from functions of a framework's arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Row = Callable[..., Any] | str
Table = Mapping[str, Row] | str
Arrays = Callable[[Any], Any]


def calls(enter: Arrays, leave: Arrays) -> Callable[..., dict[str, Row]]:
    """Return ``called``, which makes a table from functions of a framework's arrays, by operation; reasons stay reasons.

    Args:
        enter: makes the framework's array of a NumPy array. Arguments of other types are passed on.
        leave: makes a NumPy array of the framework's. Of several that a function returns each is made one; text is passed on.
    """

    def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            entered = (enter(one) if isinstance(one, np.ndarray) else one for one in arguments)
            found = function(*entered, **options)
            if isinstance(found, tuple | list):
                return tuple(map(leave, found))
            return found if isinstance(found, str) else leave(found)

        return call

    def called(**functions: Row) -> dict[str, Row]:
        return {name: one if isinstance(one, str) else of_arrays(one) for name, one in functions.items()}

    return called


def seeding(sow: Callable[[int], Any]) -> Callable[..., Callable[..., Any]]:
    """Return ``seeded``, which makes a function that also takes a ``seed``, and sets it first."""

    def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
        def draw(*arguments: Any, seed: int) -> Any:
            sow(seed)
            return function(*arguments)

        return draw

    return seeded


def follows_array(enter: Arrays) -> Callable[[np.ndarray], bool]:
    """Return a test whether a change to an array [n] shows in the tensor that ``enter`` makes from it."""

    def follows(X: np.ndarray) -> bool:
        tensor = enter(X)
        X[0] += 1
        return bool(tensor[0] == X[0])

    return follows


def follows_tensor(enter: Arrays, leave: Arrays) -> Callable[[np.ndarray], bool]:
    """Return a test whether a change to the array [n] that ``leave`` makes from a tensor shows in the tensor."""

    def follows(X: np.ndarray) -> bool:
        tensor = enter(X)
        array = leave(tensor)
        array[0] += 1
        return bool(tensor[0] == array[0])

    return follows


def runs(compiled: Callable[[Callable[[Any], Any]], Callable[[Any], Any]], enter: Arrays) -> Callable[..., int]:
    """Return a count of how often Python runs a function that is compiled once and called with several arrays."""

    def count(arrays: Sequence[np.ndarray]) -> int:
        seen: list[int] = []

        def traced(x: Any) -> Any:
            seen.append(1)
            return x + 1.0

        function = compiled(traced)
        for array in arrays:
            function(enter(array))
        return len(seen)

    return count
