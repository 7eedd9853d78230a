"""Small inputs for Hypothesis to draw: zeros and ones, a few other numbers, short lengths, few keys of a mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .inputs import Given, Input, Sizes

MOST_OTHER = 3  # floats that are neither 0 nor 1, in all inputs together
LARGEST = 8.0
Arrays = dict[str, np.ndarray]
Draw = Callable[[Any], Any]


def small_inputs(inputs: Given, sizes: Sizes) -> Any:
    """Return the strategy: inputs of these sizes; an array that was given stays what it is.

    Floats are 0 and 1 but for MOST_OTHER at most. Simpler is: fewer ones, shorter lengths, smaller numbers.
    """
    from hypothesis import strategies

    def size(given: Any) -> Any:
        return sizes[given] if isinstance(given, str) else given

    @strategies.composite
    def drawn(draw: Draw) -> Arrays:
        arrays: Arrays = {}
        for name, value in inputs.items():
            if isinstance(value, Input):
                options = {option: size(given) for option, given in value.options.items()}
                arrays[name] = SMALL[value.kind](draw, tuple(map(size, value.shape)), options)
            else:
                arrays[name] = value
        floats = [arrays[name] for name, value in inputs.items() if isinstance(value, Input) and value.kind == "floats"]
        places = [(array, place) for array in floats for place in range(array.size)]
        if places:
            number = strategies.floats(-LARGEST, LARGEST, width=32, allow_subnormal=False)
            for array, place, other in draw(_others(places, number)):
                array.flat[place] = other
        return arrays

    return drawn()


def _others(places: list[tuple[np.ndarray, int]], number: Any) -> Any:
    from hypothesis import strategies

    one = strategies.tuples(strategies.integers(0, len(places) - 1), number)
    return strategies.lists(one, max_size=MOST_OTHER).map(lambda drawn: [(*places[at], value) for at, value in drawn])


def _bits(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Return zeros and ones of one whole number: a single choice for Hypothesis, however many there are."""
    from hypothesis import strategies

    count = int(np.prod(shape, dtype=np.int64))
    number = draw(strategies.integers(0, 2**count - 1))
    return np.array([number >> place & 1 for place in range(count)], bool).reshape(shape)


def _whole(draw: Draw, shape: tuple[int, ...], least: int, most: int) -> np.ndarray:
    from hypothesis import strategies

    count = int(np.prod(shape, dtype=np.int64))
    drawn = draw(strategies.lists(strategies.integers(least, most), min_size=count, max_size=count))
    return np.array(drawn, np.int64).reshape(shape)


def _floats(draw: Draw, shape: tuple[int, ...], options: Mapping[str, Any]) -> np.ndarray:
    return _bits(draw, shape).astype(np.float64)


def _ids(draw: Draw, shape: tuple[int, ...], options: Mapping[str, Any]) -> np.ndarray:
    return _whole(draw, shape, 0, options["below"] - 1)


def _lengths(draw: Draw, shape: tuple[int, ...], options: Mapping[str, Any]) -> np.ndarray:
    return _whole(draw, shape, 0 if options["zeros"] else 1, options["up_to"])


def _masks(draw: Draw, shape: tuple[int, ...], options: Mapping[str, Any]) -> np.ndarray:
    """Return booleans; each row along the last axis has one that is True, as a rule of the input."""
    mask = _bits(draw, shape)
    if not options["empty_rows"] and mask.size:
        mask[~mask.any(-1), 0] = True
    return mask


SMALL: dict[str, Callable[[Draw, tuple[int, ...], Mapping[str, Any]], np.ndarray]] = {
    "floats": _floats,
    "ids": _ids,
    "lengths": _lengths,
    "masks": _masks,
}


def others(inputs: Mapping[str, np.ndarray]) -> int:
    """Count the values that are neither 0 nor 1."""
    return sum(int(np.sum((array != 0) & (array != 1))) for array in inputs.values())
