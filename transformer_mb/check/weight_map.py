"""The weights of both sides paired: each tensor of the reference is an arrangement of numbers of the candidate's.

An arrangement is found by asking it for the places of numbers: what it does to whole numbers that count them, it does to
weights. So it can be turned round, and what it leaves out or has twice is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import WeightsError, listed
from ..random_streams import stream

Arrays = Mapping[str, np.ndarray]
Shapes = Mapping[str, tuple[int, ...]]
Look = Callable[[str], np.ndarray]
KEPT = "(kept)"  # what has no partner and stays as its factory made it
TRANSPOSED = ".T"
MISSING = "has no partner"


class WeightMapError(WeightsError):
    """A weight map that leaves tensors of either side out, or pairs what does not fit."""


@dataclass(frozen=True)
class Expression:
    """An arrangement of the candidate's tensors: ``look`` gives them by name. ``text`` writes it as it was made."""

    look: Callable[[Look], np.ndarray]
    text: str

    def _then(self, function: Callable[[np.ndarray], np.ndarray], text: str) -> Expression:
        return Expression(lambda look: function(self.look(look)), f"{self.text}{text}")

    @property
    def T(self) -> Expression:
        return self._then(np.transpose, TRANSPOSED)

    def transpose(self, *axes: int) -> Expression:
        return self._then(lambda array: np.transpose(array, axes or None), f".transpose{axes}")

    def reshape(self, *shape: int) -> Expression:
        return self._then(lambda array: np.reshape(array, shape), f".reshape{shape}")

    def __getitem__(self, part: Any) -> Expression:
        return self._then(lambda array: np.asarray(array[part]), f"[{part}]")

    def __mul__(self, factor: float) -> Expression:
        return self._then(lambda array: array * factor, f" * {factor!r}")


def weight(name: str) -> Expression:
    """Return the candidate's tensor of that name; ``name.T`` is its transpose."""
    return Expression(lambda look: look(name), name)


def stack(*parts: str | Expression, axis: int = 0) -> Expression:
    """Return tensors joined along an axis that they have, as a packed q, k, v is."""
    each = [_expression(part) for part in parts]
    text = f"stack({', '.join(part.text for part in each)}{f', axis={axis}' if axis else ''})"
    return Expression(lambda look: np.concatenate([part.look(look) for part in each], axis), text)


def through(function: Callable[..., np.ndarray], *parts: str | Expression) -> Expression:
    """Return what a function of NumPy arrays makes of tensors: it may rearrange numbers and multiply them, no more."""
    each = [_expression(part) for part in parts]
    text = f"{getattr(function, '__name__', 'function')}({', '.join(part.text for part in each)})"
    return Expression(lambda look: np.asarray(function(*(part.look(look) for part in each))), text)


def _expression(given: str | Expression) -> Expression:
    return given if isinstance(given, Expression) else weight(given)


@dataclass(frozen=True)
class Arrangement:
    """The place of each of a tensor's numbers among all of the candidate's, and what it is multiplied with."""

    places: np.ndarray
    factors: np.ndarray


@dataclass(frozen=True)
class WeightMap:
    """Pairs that are complete in both directions.

    Args:
        pairs: by name of the reference. constants: the numbers that fill tensors of the reference without a partner.
        kept: tensors of the reference that stay as they were made; kept_there: of the candidate.
        shapes: of the reference; there: of the candidate. texts: how each pair was written.
    """

    pairs: Mapping[str, Arrangement]
    constants: Mapping[str, float]
    kept: tuple[str, ...]
    kept_there: tuple[str, ...]
    shapes: Shapes
    there: Shapes
    texts: Mapping[str, str]

    @cached_property
    def _starts(self) -> dict[str, int]:
        return _starts(self.there)

    def to_candidate(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Return the candidate's tensors for these of the reference: all but those that are kept."""
        flat = np.zeros(sum(map(_count, self.there.values())))
        for name, pair in self.pairs.items():
            flat[pair.places] = np.asarray(arrays[name], np.float64) / pair.factors
        return {name: self._part(flat, name) for name in self.there if name not in self.kept_there}

    def from_candidate(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Return the reference's tensors for these of the candidate: the reverse of ``to_candidate``."""
        return {name: value * self.pairs[name].factors ** 2 for name, value in self.to_reference(arrays).items()}

    def to_reference(self, gradients: Arrays) -> dict[str, np.ndarray]:
        """Return the candidate's gradients in the reference's arrangement; without those of which a part is missing."""
        flat = np.full(sum(map(_count, self.there.values())), np.nan)
        missing = set(self.there) - set(gradients)
        for name, gradient in gradients.items():
            flat[self._slice(name)] = np.ravel(np.asarray(gradient, np.float64))
        found = {name: pair for name, pair in self.pairs.items() if not self.partners(name) & missing}
        return {name: flat[pair.places] / pair.factors for name, pair in found.items()}

    def partners(self, name: str) -> set[str]:
        """Return the candidate's tensors that a tensor of the reference has numbers of."""
        if name not in self.pairs:
            return set()
        places = self.pairs[name].places
        return {other for other in self.there if _touches(places, self._slice(other))}

    def places(self, name: str, partner: str) -> np.ndarray:
        """Return where in a tensor of the reference, as if it were flat, the numbers of one of its partners are."""
        part, found = self._slice(partner), self.pairs[name].places.ravel()
        return np.flatnonzero((found >= part.start) & (found < part.stop))

    def _slice(self, name: str) -> slice:
        start = self._starts[name]
        return slice(start, start + _count(self.there[name]))

    def _part(self, flat: np.ndarray, name: str) -> np.ndarray:
        return flat[self._slice(name)].reshape(self.there[name])


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _touches(places: np.ndarray, part: slice) -> bool:
    return bool(np.any((places >= part.start) & (places < part.stop)))


def _starts(shapes: Shapes) -> dict[str, int]:
    ends = np.cumsum([0, *map(_count, shapes.values())])
    return dict(zip(shapes, map(int, ends), strict=False))


def weight_map(given: Mapping[str, Any] | WeightMap | None, shapes: Shapes, there: Shapes) -> WeightMap:
    """Pair the reference's tensors, of these ``shapes``, with those of the candidate.

    Args:
        given: by name of the reference a name of the candidate's, an Expression, a number that fills it, or KEPT; under the key
            KEPT a list of what the candidate keeps. None pairs equal names. A finished map is taken as it is.
    Raises: WeightMapError, which lists all that is left over and all that does not fit.
    """
    if isinstance(given, WeightMap):
        if (given.shapes, given.there) != (shapes, there):
            raise WeightMapError(
                "A finished weight map must be of these subjects, got one of tensors with other names or shapes."
            )
        return given
    given = {name: name for name in shapes} if given is None else dict(given)
    kept_there = tuple(given.pop(KEPT, ()))
    wrong = [f"{name}: the reference has no such tensor" for name in given if name not in shapes]
    wrong += [f"{name}: the candidate, which shall keep it, has no such tensor" for name in kept_there if name not in there]
    pairs: dict[str, Arrangement] = {}
    texts: dict[str, str] = {}
    constants = {name: float(value) for name, value in given.items() if isinstance(value, int | float)}
    kept = tuple(name for name, value in given.items() if isinstance(value, str) and value == KEPT)
    for name, value in given.items():
        if name in shapes and name not in constants and name not in kept:
            expression = _expression(value)
            found = _arranged(expression, there, shapes[name])
            texts[name] = expression.text
            if isinstance(found, str):
                wrong.append(f"{name} {_shown(shapes[name])} = {expression.text}: {found}")
            else:
                pairs[name] = found
    wrong += [f"{name} {_shown(shapes[name])} of the reference {MISSING}" for name in shapes if name not in given]
    if not any("=" in line for line in wrong):  # else the same tensor would be told of twice
        wrong += _left(pairs, there, kept_there)
    if wrong:
        missing = [line for line in wrong if line.endswith(MISSING)]
        which = "The weight map is incomplete: it" if missing else "A weight map"
        raise WeightMapError(
            f"{which} must pair every number of both sides once, and name what is kept, got one where this is wrong:"
            + listed([*missing, *(line for line in wrong if line not in missing)])
        )
    return WeightMap(pairs, constants, kept, kept_there, shapes, there, texts)


def _arranged(expression: Expression, there: Shapes, shape: tuple[int, ...]) -> Arrangement | str:
    """Return the arrangement, or what is wrong with it in words."""
    starts = _starts(there)

    def looking(make: Callable[[str], np.ndarray]) -> Look:
        def look(name: str) -> np.ndarray:
            if name in there:
                return make(name)
            plain = name.removesuffix(TRANSPOSED)
            if plain == name or plain not in there:
                raise KeyError(name)
            return make(plain).T

        return look

    def of(flat: np.ndarray) -> Look:
        return looking(lambda name: flat[starts[name] : starts[name] + _count(there[name])].reshape(there[name]))

    total = sum(map(_count, there.values()))
    drawn = stream("weight map").uniform(1.0, 2.0, total)
    try:
        factors, numbers, images = (
            np.asarray(expression.look(of(flat)), np.float64) for flat in (np.ones(total), np.arange(1.0, total + 1), drawn)
        )
    except KeyError as error:
        return f"the candidate has no tensor {error.args[0]}"
    except Exception as error:  # whatever NumPy or the user's function says of shapes
        return f"{type(error).__name__}: {error}"
    if factors.shape != shape:
        return f"it has the shape {_shown(factors.shape)}"
    if not np.all(np.isfinite(factors)) or np.any(factors == 0.0):
        return "it must only rearrange numbers and multiply them, got a number times 0"
    places = np.rint(numbers / factors).astype(np.int64) - 1
    if np.any((places < 0) | (places >= total)) or not np.allclose(images, drawn[places] * factors, rtol=1e-12, atol=0):
        return "it must only rearrange numbers and multiply them, got sums of several"
    return Arrangement(places, factors)


def _left(pairs: Mapping[str, Arrangement], there: Shapes, kept_there: Sequence[str]) -> list[str]:
    """Name the candidate's tensors of which numbers are left over, or used twice."""
    times = np.zeros(sum(map(_count, there.values())), np.int64)
    for pair in pairs.values():
        np.add.at(times, pair.places.ravel(), 1)
    wrong = []
    for name, start in _starts(there).items():
        part = times[start : start + _count(there[name])]
        if name in kept_there:
            wrong += [f"{name} {_shown(there[name])} of the candidate is kept, but has a partner"] if part.any() else []
        elif part.size and not part.any():
            wrong.append(f"{name} {_shown(there[name])} of the candidate {MISSING}")
        elif np.any(part != 1):
            some = "used more than once" if np.any(part > 1) else "only in part used"
            wrong.append(f"{name} {_shown(there[name])} of the candidate is {some}")
    return wrong


def _shown(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"
