"""Inputs of a comparison, drawn by a seed: what each is, with letters for the sizes that several share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..random_streams import stream

Size = int | str
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Input:
    """An input by its kind, a key of KINDS, its shape and what that kind takes."""

    kind: str
    shape: tuple[Size, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def letters(self) -> set[str]:
        return {size for size in (*self.shape, self.options.get("up_to")) if isinstance(size, str)}


Given = Mapping[str, Input | np.ndarray]
Arrays = dict[str, np.ndarray]


def floats(*shape: Size, scale: float = 1.0, mean: float = 0.0) -> Input:
    """Return normally distributed numbers; each is one that float32 can hold."""
    return Input("floats", shape, {"scale": scale, "mean": mean})


def ids(*shape: Size, below: int) -> Input:
    """Return whole numbers from 0 to ``below`` - 1, as int64."""
    return Input("ids", shape, {"below": below})


def lengths(*shape: Size, up_to: Size, zeros: bool = False) -> Input:
    """Return whole numbers from 1 (0 with ``zeros``) to ``up_to``; at least one is ``up_to``, and of several one is not."""
    return Input("lengths", shape, {"up_to": up_to, "zeros": zeros})


def masks(*shape: Size, true: float = 0.7, empty_rows: bool = False) -> Input:
    """Return booleans, of which the share ``true`` is True; without ``empty_rows`` each row of the last axis has one."""
    return Input("masks", shape, {"true": true, "empty_rows": empty_rows})


def _floats(random: np.random.Generator, shape: tuple[int, ...], scale: float, mean: float) -> np.ndarray:
    return single(mean + scale * random.standard_normal(shape))


def _ids(random: np.random.Generator, shape: tuple[int, ...], below: int) -> np.ndarray:
    return random.integers(0, below, shape)


def _lengths(random: np.random.Generator, shape: tuple[int, ...], up_to: int, zeros: bool) -> np.ndarray:
    drawn = random.integers(0 if zeros else 1, up_to + 1, shape)
    if drawn.size:
        drawn.flat[random.integers(drawn.size)] = up_to
    if drawn.size > 1 and up_to > 1 and (drawn == up_to).all():  # else nothing would be cut off
        drawn.flat[random.integers(drawn.size)] = random.integers(1, up_to)
    return drawn


def _masks(random: np.random.Generator, shape: tuple[int, ...], true: float, empty_rows: bool) -> np.ndarray:
    drawn = random.random(shape) < true
    if not empty_rows and drawn.size:
        rows = drawn.reshape(-1, shape[-1] if shape else 1)
        rows[np.arange(len(rows)), random.integers(rows.shape[1], size=len(rows))] = True
        if true < 1.0 and rows.shape[1] > 1 and rows.all():  # else nothing would be masked
            rows.flat[random.integers(rows.size)] = False
    return drawn


KINDS: dict[str, Callable[..., np.ndarray]] = {"floats": _floats, "ids": _ids, "lengths": _lengths, "masks": _masks}


def single(array: np.ndarray) -> np.ndarray:
    """Return floats as float64 that float32 holds exactly, so that both formats begin from the same numbers."""
    return np.asarray(array, np.float64).astype(np.float32).astype(np.float64)


def check_inputs(inputs: Given, sizes: Sizes) -> None:
    """Refuse, with ConfigError, what is no input, and letters without a size."""
    if not inputs:
        raise ConfigError("A comparison must have inputs, such as {'x': floats('B', 8)}, got none.")
    for name, value in inputs.items():
        if not isinstance(value, Input | np.ndarray):
            raise ConfigError(f"The input {name} must be floats(), ids(), lengths(), masks() or an array, got {value!r:.80}.")
    used = set().union(*(value.letters() for value in inputs.values() if isinstance(value, Input)))
    wrong = {name: size for name, size in sizes.items() if not isinstance(size, int) or isinstance(size, bool) or size < 1}
    if wrong:
        raise ConfigError(f"Sizes must be whole numbers from 1 on, got {wrong}.")
    if used != set(sizes):
        raise ConfigError(f"sizes must give the letters {sorted(used)}, got {sorted(sizes)}.")


def drawn(inputs: Given, sizes: Sizes, seed: object) -> Arrays:
    """Return an array for each input; an array that was given stays what it is."""
    return {
        name: value if isinstance(value, np.ndarray) else _drawn(name, value, sizes, seed) for name, value in inputs.items()
    }


def _drawn(name: str, value: Input, sizes: Sizes, seed: object) -> np.ndarray:
    def size(given: Any) -> Any:
        return sizes[given] if isinstance(given, str) else given

    options = {option: size(given) for option, given in value.options.items()}
    return KINDS[value.kind](stream("input", seed, name), tuple(map(size, value.shape)), **options)
