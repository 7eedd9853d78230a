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
    found += _flattened(given, wanted)
    for matrix in _matrices(given):
        if matrix[::-1] in _matrices(wanted) and matrix != (1, 1):
            first, last = (None if matrix == given else matrix), (None if matrix[::-1] == wanted else wanted)
            found.append(Arrangement(first, (1, 0), last))
    return list(dict.fromkeys(found))


def _flattened(given: Shape, wanted: Shape) -> list[Arrangement]:
    """Return the ways between the kernel of a convolution and a matrix whose rows or columns count channels last or first."""
    kernel, matrix = (given, wanted) if len(given) > len(wanted) else (wanted, given)
    if len(kernel) < 4 or len(matrix) != 2:
        return []
    places = tuple(range(len(kernel)))
    found = []
    for out, channels, space in ((0, 1, places[2:]), (places[-1], places[-2], places[:-2])):
        for order in ((out, *space, channels), (out, channels, *space), (*space, channels, out), (channels, *space, out)):
            shape = tuple(kernel[i] for i in order)
            as_matrix = (shape[0], prod(shape[1:])) if order[0] == out else (prod(shape[:-1]), shape[-1])
            if as_matrix == matrix and order != places:
                back = tuple(order.index(i) for i in places)
                found.append(Arrangement(None, order, matrix) if kernel == given else Arrangement(shape, back))
    return found


def _refines(one: Shape, other: Shape) -> bool:
    """Tell whether one shape has all borders of the other, or the other way round."""
    borders = [set(accumulate(shape, mul)) | {1} for shape in (one, other)]
    return borders[0] <= borders[1] or borders[1] <= borders[0]


def _matrices(shape: Shape) -> list[Shape]:
    """Return the matrices that a shape becomes when axes side by side are joined."""
    return [(prod(shape[:i]), prod(shape[i:])) for i in range(1, len(shape))]
