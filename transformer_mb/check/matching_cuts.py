"""Tensors that hold several others: packed along an axis one after the other, or group by group as heads are interleaved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .matching_entries import ALL, Entry, named
from .matching_shapes import Arrangement, Shape, arrangements


@dataclass(frozen=True)
class Cut:
    """The parts of a tensor along an axis.

    Args:
        shape: of the whole. sizes: of the parts along ``axis``.
        groups: how often the parts follow each other, each time with a share of every one; then they are of one size.
    """

    shape: Shape
    axis: int
    sizes: tuple[int, ...]
    groups: int = 1

    def piece(self, number: int) -> Shape:
        """Return the shape of a part."""
        return (*self.shape[: self.axis], self.sizes[number], *self.shape[self.axis + 1 :])

    def take(self, whole: Entry, number: int) -> Entry:
        """Return a part of the whole."""
        before = (ALL,) * self.axis
        if self.groups == 1:
            start = sum(self.sizes[:number])
            return whole.part(*before, (start, start + self.sizes[number]))
        opened = whole.reshape(*self._opened(len(self.sizes)))
        return opened.part(*before, ALL, number).reshape(*self.piece(number))

    def join(self, parts: Sequence[Entry]) -> Entry:
        """Return the whole of its parts."""
        if self.groups == 1:
            return Entry(tuple(parts), self.axis)
        opened = tuple(part.reshape(*self._opened(1)) for part in parts)
        return Entry(opened, self.axis + 1).reshape(*self.shape)

    def _opened(self, count: int) -> Shape:
        inner = self.sizes[0] // self.groups
        return (*self.shape[: self.axis], self.groups, count, inner, *self.shape[self.axis + 1 :])

    def flat(self, is_bias: bool) -> int:
        """Return the groups counted over all axes of what the layer returns: those of its weight are those of its bias."""
        return self.groups * prod(self.shape[0 if is_bias else 1 : self.axis])


@dataclass(frozen=True)
class Atom:
    """A part of a tensor that may hold several: the ``number``-th of ``count`` along an axis; one of one is all of it."""

    name: str
    shape: Shape
    number: int = 0
    count: int = 1

    def cuts(self) -> list[Cut | None]:
        """Return the ways in which the tensor may hold it."""
        if self.count == 1:
            return [None]
        axes = [axis for axis, size in enumerate(self.shape) if size % self.count == 0]
        return [Cut(self.shape, axis, (self.shape[axis] // self.count,) * self.count) for axis in axes]


def divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def whole_cuts(whole: Shape, atoms: Sequence[Atom]) -> Iterator[Cut]:
    """Yield the ways in which a tensor may hold these parts in their order."""
    for axis, size in enumerate(whole):
        rest = prod(whole) // size
        counts = [prod(atom.shape) // atom.count for atom in atoms]
        sizes = tuple(count // rest for count in counts)
        if any(count % rest for count in counts) or sum(sizes) != size or 0 in sizes:
            continue
        for groups in divisors(sizes[0]) if len(set(sizes)) == 1 else [1]:
            yield Cut(whole, axis, sizes, groups)


def packed_entries(whole: str, cut: Cut, atoms: Sequence[Atom], turned: bool) -> dict[str, Entry] | None:
    """Return the entry of a packed tensor of the reference, made of the candidate's parts; None where these do not fit."""
    parts = []
    for number, atom in enumerate(atoms):
        found = _fitting(cut.piece(number), atom, turned, to_whole=True)
        if found is None:
            return None
        own, arranged = found
        parts.append(arranged.of(named(atom.name) if own is None else own.take(named(atom.name), atom.number)))
    return {whole: cut.join(parts)}


def unpacked_entries(whole: str, cut: Cut, atoms: Sequence[Atom], turned: bool) -> dict[str, Entry] | None:
    """Return the entries of tensors of the reference that the candidate holds packed in one."""
    made: dict[str, dict[int, Entry]] = {}
    owns = {}
    for number, atom in enumerate(atoms):
        found = _fitting(cut.piece(number), atom, turned, to_whole=False)
        if found is None:
            return None
        owns[atom.name], arranged = found
        made.setdefault(atom.name, {})[atom.number] = arranged.of(cut.take(named(whole), number))
    entries = {}
    for name, parts in made.items():
        own, ordered = owns[name], [part for _, part in sorted(parts.items())]
        entries[name] = ordered[0] if own is None else own.join(ordered)
    return entries


def _fitting(piece: Shape, atom: Atom, turned: bool, to_whole: bool) -> tuple[Cut | None, Arrangement] | None:
    found = []
    for own in atom.cuts():
        shape = atom.shape if own is None else own.piece(atom.number)
        ways = arrangements(shape, piece) if to_whole else arrangements(piece, shape)
        found += [(own, way) for way in ways]
    return next((one for one in found if one[1].turned == turned), found[0] if found else None)


def reordered(name: str, here: Cut, other: str, there: Cut, order: Sequence[int], turned: bool) -> dict[str, Entry] | None:
    """Return the entry of a packed tensor by one that is packed in another order, or otherwise."""
    parts = []
    for number, place in enumerate(order):
        ways = arrangements(there.piece(place), here.piece(number))
        if not ways:
            return None
        way = next((one for one in ways if one.turned == turned), ways[0])
        parts.append(way.of(there.take(named(other), place)))
    return {name: here.join(parts)}
