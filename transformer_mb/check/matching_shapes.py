"""Arrangements of an array in another shape: as it is, transposed, or with the axis of heads joined or parted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Arrangement:
    """Steps from one shape to another: an optional reshape, an optional order of axes, an optional reshape.

    ``turned`` says that rows and columns change places.
    """

    first: Shape | None = None
    axes: tuple[int, ...] | None = None
    last: Shape | None = None

    @property
    def turned(self) -> bool:
        return self.axes is not None

    def of(self, expression: Any) -> Any:
        """Apply the steps to whatever has ``reshape`` and ``transpose``: an array, or a weight of a map."""
        if self.first is not None:
            expression = expression.reshape(*self.first)
        if self.axes is not None:
            expression = expression.transpose(*self.axes)
        return expression if self.last is None else expression.reshape(*self.last)

    def source(self, name: str) -> str:
        """Return the Python by which a weight map applies the steps to a tensor of that name."""
        if self == Arrangement():
            return f'"{name}"'
        if self == Arrangement(axes=(1, 0)):
            return f'"{name}.T"'
        steps = [f".reshape{self.first}"] if self.first is not None else []
        steps += [".T" if self.axes == (1, 0) else f".transpose{self.axes}"] if self.axes is not None else []
        steps += [f".reshape{self.last}"] if self.last is not None else []
        return f'check.weight("{name}"){"".join(steps)}'.replace(",)", ")")


AS_IS = Arrangement()


def arrangements(given: Shape, wanted: Shape) -> list[Arrangement]:
    """Return each way in which an array of the given shape becomes one of the wanted shape, the plain one first.

    Rows and columns may change places, axes that lie side by side may be joined or parted, and a convolution's kernel may
    have its channels first or last. Nothing else: the numbers of a matrix never move into rows of another length.
    """
    if prod(given) != prod(wanted):
        return []
    found: list[Arrangement] = []
    if given == wanted:
        found.append(AS_IS)
    elif _refines(given, wanted) and (len(given) < 2 or len(wanted) != len(given)):
        found.append(Arrangement(first=wanted))
    if len(given) == len(wanted) > 2:
        places = range(len(given))
        to_front = (len(given) - 1, len(given) - 2, *places[:-2])  # [Y, X, in, out] -> [out, in, Y, X]
        to_back = (*places[2:], 1, 0)
        return [*found, *(Arrangement(axes=axes) for axes in (to_front, to_back) if tuple(given[i] for i in axes) == wanted)]
    for matrix in _matrices(given):
        if matrix[::-1] in _matrices(wanted) and matrix != (1, 1):
            first, last = (None if matrix == given else matrix), (None if matrix[::-1] == wanted else wanted)
            found.append(Arrangement(first, (1, 0), last))
    return list(dict.fromkeys(found))


def _refines(one: Shape, other: Shape) -> bool:
    """Tell whether one shape has all borders of the other, or the other way round."""
    borders = [set(accumulate(shape, mul)) | {1} for shape in (one, other)]
    return borders[0] <= borders[1] or borders[1] <= borders[0]


def _matrices(shape: Shape) -> list[Shape]:
    """Return the matrices that a shape becomes when axes side by side are joined."""
    return [(prod(shape[:i]), prod(shape[i:])) for i in range(1, len(shape))]
