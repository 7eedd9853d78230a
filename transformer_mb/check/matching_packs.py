"""Choices between a module that holds several packed in one and the modules of the other side that it holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations, product
from math import prod
from typing import Any, NamedTuple

from .matching_choices import Choice, Entries, Modules, fits
from .matching_cuts import Atom, Cut, divisors, reordered, whole_cuts
from .matching_names import likeness, parent_of, place, words

MOST_PARTS = 4
MOST_GROUPS = 8  # ways to interleave: one for each divisor
# Of what is packed on both sides: how many parts it has.
PARTS_BY_NAME = {"qkv": (3,), "kv": (2,), "gates of inputs": (4, 3), "gates of states": (4, 3)}
PLACES = {"kv": (1, 2)}  # of the parts among queries, keys and values; as a rule all three


Make = Callable[[str, Cut, Sequence[Atom], bool], "Entries | None"]  # packed_entries or unpacked_entries


class Pack(NamedTuple):
    """A module, its parts on the other side by their paths, and how many places of the packed one each of these has."""

    whole: str
    parts: tuple[str, ...]
    counts: tuple[int, ...]


def unfitting(wholes: Modules, others: Modules) -> list[str]:
    """Return the modules that no module of the other side can be."""
    return [path for path, one in wholes.items() if not any(fits(one, other) for other in others.values())]


def packs(wholes: Modules, among: Modules, paths: Iterable[str], make: Make) -> list[Pack]:
    """Find for each module the parts that it holds, the likeliest by names, if there are any."""
    taken: set[str] = set()
    found = []
    for path in paths:
        free = {other: tensors for other, tensors in among.items() if other not in taken}
        best = max(_sets(path, wholes[path], free, make), key=lambda one: one[0], default=None)
        if best:
            taken |= set(best[1].parts)
            found.append(best[1])
    return found


def _sets(path: str, one: Any, there: Modules, make: Make) -> Iterable[tuple[float, Pack]]:
    parents = defaultdict(list)
    for other, tensors in there.items():
        if set(tensors) == set(one):
            parents[parent_of(other, "" in tensors)].append(other)
    sizes = {other: {role: prod(shape) for role, (_, shape) in there[other].items()} for other in there}
    wanted = {role: prod(shape) for role, (_, shape) in one.items()}
    for parent, children in parents.items():
        for count in range(2, MOST_PARTS + 1):
            for parts in combinations(children, count):
                if all(sum(sizes[part][role] for part in parts) == total for role, total in wanted.items()):
                    pack = Pack(path, parts, _counts([sizes[part] for part in parts]))
                    if _any_cut(one, _atoms(pack, there, list(one)), make):
                        named = next((PLACES[word] for word in words(path)[-1:] if word in PLACES), (0, 1, 2))
                        yield likeness(path, parent) + 0.1 * sum(place(part) in named for part in parts), pack


def _counts(sizes: list[dict[str, int]]) -> tuple[int, ...]:
    """Return how many of the smallest part each has the size of; ones where that does not come out even."""
    (role,) = list(sizes[0])[:1]
    least = sorted(size[role] for size in sizes)[0]
    counts = tuple(size[role] // least for size in sizes)
    even = all(size[role] == count * least for size, count in zip(sizes, counts, strict=True))
    return counts if even and sum(counts) <= MOST_PARTS else (1,) * len(sizes)


def _atoms(pack: Pack, there: Modules, roles: Sequence[str]) -> dict[str, list[Atom]]:
    """Return by role the atoms in their likeliest order: queries, keys, values, by their names."""
    each = [(path, number, count) for path, count in zip(pack.parts, pack.counts, strict=True) for number in range(count)]
    each.sort(key=lambda one: place(one[0]) + (one[1] if place(one[0]) < MOST_PARTS else 0))
    return {role: [Atom(*there[path][role], number, count) for path, number, count in each] for role in roles}


def _any_cut(one: Any, atoms: dict[str, list[Atom]], make: Make) -> bool:
    return all(
        any(make("", cut, atoms[role], False) for cut in whole_cuts(shape, atoms[role])) for role, (_, shape) in one.items()
    )


def pack_choices(found: list[Pack], wholes: Modules, parts: Modules, turned: bool, make: Make) -> list[Choice]:
    """Return the choice of each pack: in each order, one part after the other or interleaved, as they lie or turned."""
    choices = []
    for pack in found:
        one = wholes[pack.whole]
        natural = _atoms(pack, parts, list(one))
        count = len(next(iter(natural.values())))
        ways: dict[tuple[int, tuple[int, ...]], tuple[Entries, ...]] = {}
        for order in permutations(range(count)):
            atoms = {role: [each[n] for n in order] for role, each in natural.items()}
            cuts = {role: _by_groups(one[role][1], each, role == "bias") for role, each in atoms.items()}
            for flat in sorted(set.intersection(*map(set, cuts.values())))[:MOST_GROUPS]:
                both = [
                    _joint(one, {role: cuts[role][flat] for role in one}, atoms, make, turn) for turn in (turned, not turned)
                ]
                made = [entries for entries in both if entries is not None]
                if made:
                    ways[flat, order] = tuple(made if made[0] != made[-1] else made[:1])
        ordered = sorted(ways, key=lambda key: (key[0] > 1, key[1] != tuple(range(count)), key[0], key[1]))
        named = sorted(map(place, pack.parts)) == list(range(len(pack.parts))) and count == len(pack.parts)
        if ordered:
            choices.append(Choice(tuple(ways[key] for key in ordered), named, ("pack", pack.counts, len(ordered)), True))
    return choices


def _by_groups(whole: tuple[int, ...], atoms: Sequence[Atom], is_bias: bool) -> dict[int, Cut]:
    found: dict[int, Cut] = {}
    for cut in whole_cuts(whole, atoms):
        found.setdefault(cut.flat(is_bias), cut)
    return found


def _joint(one: Any, cuts: dict[str, Cut], atoms: dict[str, list[Atom]], make: Make, turned: bool) -> Entries | None:
    entries: Entries = {}
    for role, (name, _) in one.items():
        made = make(name, cuts[role], atoms[role], turned)
        if made is None:
            return None
        entries |= made
    return entries


def repacked(path: str, other: str, one: Any, there: Any, turned: bool) -> list[tuple[Entries, ...]]:
    """Return the ways in which a module that is packed may be the same as one that is packed otherwise."""
    counts = dict.fromkeys(n for word in (*words(path)[-1:], *words(other)[-1:]) for n in PARTS_BY_NAME.get(word, ()))
    counts |= dict.fromkeys(_times(shape) for _, shape in one.values() if len(shape) == 2)
    found: list[tuple[Entries, ...]] = []
    for count in filter(None, counts):
        cuts = [{role: _equal(side[role][1], count, role == "bias") for role in side} for side in (one, there)]
        flats = [sorted(set.intersection(*map(set, side.values())))[:MOST_GROUPS] for side in cuts]
        pairs = [(a, b) for a in flats[0] for b in flats[1] if 1 in (a, b) or a == b]
        plain = tuple(range(count))
        keys = [(a, b, order) for a, b in pairs for order in permutations(plain) if a != b or order != plain]
        for a, b, order in sorted(keys, key=lambda key: (max(key[:2]) > 1, key[2] != plain and max(key[:2]) > 1, key)):
            entries: Entries | None = {}
            for role, (name, _) in one.items():
                ways = product(cuts[0][role][a], cuts[1][role][b])
                each = (reordered(name, here, there[role][0], cut, order, turned) for here, cut in ways)
                made = next(filter(None, each), None)
                entries = None if made is None or entries is None else entries | made
            if entries:
                found.append((entries,))
    return found


def _times(shape: tuple[int, ...]) -> int:
    """Return how often the smaller side of a matrix is in the larger one, where that is how often things are packed."""
    small, large = sorted(shape)
    return large // small if large in (2 * small, 3 * small) else 0


def _equal(whole: tuple[int, ...], count: int, is_bias: bool) -> dict[int, list[Cut]]:
    """Return the ways to cut a tensor into equal parts by their groups; along an axis of that size first, then the longest."""
    found: dict[int, list[Cut]] = {}
    for axis in sorted(range(len(whole)), key=lambda axis: (whole[axis] != count, -whole[axis])):
        if whole[axis] % count == 0:
            size = whole[axis] // count
            for groups in divisors(size):
                cut = Cut(whole, axis, (size,) * count, groups)
                found.setdefault(cut.flat(is_bias), []).append(cut)
    return found
