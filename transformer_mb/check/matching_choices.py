"""Tensors that may be the same, by the modules that hold them, their names and shapes; what these leave open is a choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from .matching_names import likeness, parted, place, words
from .matching_shapes import AS_IS, Arrangement, arrangements
from .weight_map import Expression, Shapes, stack, weight

WIDEST = 80
MOST_ORDERS = 6  # of three tensors that no name tells apart
CLEARLY = 0.04  # by how much names must be less alike, taken together, for another order not to be tried
OUT_FIRST = ("torch", "gluon")  # whose linear layers hold [out, in]
Modules = dict[str, dict[str, tuple[str, tuple[int, ...]]]]  # by path and role: the name and the shape


@dataclass(frozen=True)
class Entry:
    """The place of a tensor of the reference among the candidate's.

    Args:
        names: of the candidate's tensors that are arranged and then joined along ``axis``.
        part: the borders along ``axis`` of what is taken of the one that is named; None takes all of it.
    """

    names: tuple[str, ...]
    arranged: Arrangement = AS_IS
    axis: int = 0
    part: tuple[int, int] | None = None

    def expression(self) -> Expression:
        """Return it as a weight map has it."""
        parts = [self.arranged.of(weight(name)) for name in self.names]
        whole = parts[0] if len(parts) == 1 else stack(*parts, axis=self.axis)
        return whole if self.part is None else whole[(slice(None),) * self.axis + (slice(*self.part),)]

    def source(self) -> str:
        """Return the Python that makes it."""
        parts = [self.arranged.source(name) for name in self.names]
        text = parts[0] if len(parts) == 1 else _stacked([*parts, *([f"axis={self.axis}"] if self.axis else [])])
        if self.part is None:
            return text
        plain = text
        if text.startswith('"'):  # a name alone is a text, of which a part is none of the tensor
            plain = f'check.weight("{self.names[0]}"){".T" if self.arranged.turned else ""}'
        return f"{plain}[{':, ' * self.axis}{self.part[0]}:{self.part[1]}]"


def _stacked(arguments: list[str]) -> str:
    """Return the call that joins, on several lines where one would be long."""
    line = f"check.stack({', '.join(arguments)})"
    return line if len(line) <= WIDEST else "check.stack(\n" + "".join(f"        {one},\n" for one in arguments) + "    )"


Entries = dict[str, Entry]


@dataclass(frozen=True)
class Choice:
    """Entries that go together, in each order and each way round that shapes allow.

    ``orders``: the likeliest first; each holds the entries as they lie, and turned where all matrices in it are square.
    ``named``: names tell the first order from the others.
    """

    orders: tuple[tuple[Entries, ...], ...]
    named: bool

    @property
    def names(self) -> list[str]:
        return list(self.orders[0][0])

    def at(self, order: int, turn: int) -> Entries:
        """Return the entries of an order; one that cannot be turned is what it is either way."""
        ways = self.orders[order]
        return ways[min(turn, len(ways) - 1)]


def modules_of(shapes: Shapes) -> Modules:
    """Return the modules that hold tensors."""
    found: Modules = defaultdict(dict)
    for name, shape in shapes.items():
        path, role = parted(name)
        found[path][role] = (name, shape)
    return dict(found)


def fits(one: Mapping[str, tuple[str, tuple[int, ...]]], other: Mapping[str, tuple[str, tuple[int, ...]]]) -> bool:
    """Tell whether the tensors of two modules can be the same, one by one."""
    return set(one) == set(other) and all(arrangements(other[role][1], one[role][1]) for role in one)


def paired(here: Modules, there: Modules) -> tuple[list[tuple[str, str]], dict[tuple[str, str], float]]:
    """Return the pairs of modules whose names are most alike in all, and the likeness of each pair that fits."""
    from scipy.optimize import linear_sum_assignment

    alike = {(a, b): likeness(a, b) for a in here for b in there if fits(here[a], there[b])}
    rows, columns = list(here), list(there)
    scores = np.array([[alike.get((a, b), -1e3) for b in columns] for a in rows]).reshape(len(rows), len(columns))
    chosen = zip(*linear_sum_assignment(scores, maximize=True), strict=True)
    return [(rows[i], columns[j]) for i, j in chosen if (rows[i], columns[j]) in alike], alike


def tied(pairs: list[tuple[str, str]], alike: Mapping[tuple[str, str], float]) -> list[list[tuple[str, str]]]:
    """Return the pairs in groups within which modules could change places without their names being less alike."""
    group = {pair: {pair} for pair in pairs}
    for (a, b), (c, d) in combinations(pairs, 2):
        if (a, d) in alike and (c, b) in alike and alike[a, b] + alike[c, d] - alike[a, d] - alike[c, b] < CLEARLY:
            merged = group[a, b] | group[c, d]
            group.update(dict.fromkeys(merged, merged))
    return [[pair for pair in pairs if pair in members] for members in {id(g): g for g in group.values()}.values()]


def is_table(path: str, name: str) -> bool:
    """Tell whether a matrix is an embedding, which all libraries keep as [rows, size]."""
    last = words(path)[-1:]
    return name.lower().endswith(("embedding", "embeddings")) or last in (("embedding",), ("position",))


def by_modules(here: Modules, there: Modules, turned: bool) -> tuple[list[Choice], list[str], list[str]]:
    """Return the choices between modules that fit one to one, and the paths that are left on each side."""
    pairs, alike = paired(here, there)
    choices = []
    for group in tied(pairs, alike):
        few = len(group) <= 3
        orders = list(permutations([b for _, b in group])) if few else [tuple(b for _, b in group)]
        orders = [order for order in orders if all((a, b) in alike for (a, _), b in zip(group, order, strict=True))]
        ways = [_ways([(here[a], there[b], a) for (a, _), b in zip(group, order, strict=True)], turned) for order in orders]
        choices.append(Choice(tuple(ways), named=len(group) == 1))
    left = [sorted(set(side) - {pair[i] for pair in pairs}) for i, side in enumerate((here, there))]
    return choices, left[0], left[1]


def _ways(pairs: list[tuple[Any, Any, str]], turned: bool) -> tuple[Entries, ...]:
    """Return the entries of modules that are paired, and those with square matrices turned, if there are any."""
    ways: list[Entries] = [{}, {}]
    for one, other, path in pairs:
        for role, (name, shape) in one.items():
            found = arrangements(other[role][1], shape)
            if is_table(path, name) or is_table("", other[role][0]):
                found = found[:1]
            elif turned:
                found = sorted(found, key=lambda way: not way.turned)
            for turn, entries in enumerate(ways):
                entries[name] = Entry((other[role][0],), found[min(turn, len(found) - 1)])
    return tuple(ways) if ways[0] != ways[1] else (ways[0],)


def mostly_turned(choices: Iterable[Choice], shapes: Shapes, kinds: tuple[str, str]) -> bool:
    """Tell whether matrices lie the other way round in the candidate: as those do that are not square, else as is usual."""
    flags = []
    for choice in choices:
        for name, entry in choice.at(0, 0).items():
            shape = shapes[name]
            if len(shape) == 2 and shape[0] != shape[1] and not is_table(*parted(name)[:1], name):
                flags.append(entry.arranged.turned)
    return sum(flags) * 2 > len(flags) if flags else (kinds[0] in OUT_FIRST) != (kinds[1] in OUT_FIRST)


def packed(here: Modules, there: Modules, turned: bool) -> tuple[list[Choice], set[str], set[str]]:
    """Return the choices between one module of the reference and several of the candidate that it holds packed.

    Also the paths that these use up: of what holds, and of what is held.
    """
    choices, wholes, held = [], set(), set()
    for path, parts, cuts, one in _packs(here, there):
        ways = [_joined(one, [there[part] for part in order], cuts, turned) for order in _orders(parts)]
        choices.append(Choice(tuple(ways), _named(parts)))
        wholes.add(path)
        held |= set(parts)
    return choices, wholes, held


def unpacked(there: Modules, here: Modules, turned: bool) -> tuple[list[Choice], set[str], set[str]]:
    """Return the same of several modules of the reference and one of the candidate that holds them packed."""
    choices, wholes, held = [], set(), set()
    for path, parts, _, one in _packs(there, here):
        ways = [_cut(one, [here[part] for part in order], turned) for order in _orders(parts)]
        choices.append(Choice(tuple(ways), _named(parts)))
        wholes.add(path)
        held |= set(parts)
    return choices, wholes, held


def _orders(parts: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(permutations(sorted(parts, key=place)))[:MOST_ORDERS]


def _named(parts: tuple[str, ...]) -> bool:
    return sorted(map(place, parts)) == list(range(len(parts)))


def _packs(wholes: Modules, parts_of: Modules) -> Iterable[tuple[str, tuple[str, ...], dict[str, Any], Any]]:
    """Find for each module the parts that it holds, if there are any: their paths and how each of its tensors is cut."""
    taken: set[str] = set()
    for path, one in wholes.items():
        free = {other: tensors for other, tensors in parts_of.items() if other not in taken}
        best = max(_sets(path, one, free), key=lambda found: found[0], default=None)
        if best:
            taken |= set(best[1])
            yield path, best[1], best[2], one


def _sets(path: str, one: Any, there: Modules) -> Iterable[tuple[float, tuple[str, ...], dict[str, Any]]]:
    """Find the modules of one parent that a packed one may hold: how alike they are, their paths, how each tensor is cut."""
    parents = defaultdict(list)
    for other in there:
        parents[other.rpartition(".")[0]].append(other)
    for parent, children in parents.items():
        for count in (2, 3, 4):
            for parts in combinations(children, count):
                cuts = {role: _cuts(shape, [there[part].get(role) for part in parts]) for role, (_, shape) in one.items()}
                if all(set(there[part]) == set(one) for part in parts) and all(cuts.values()):
                    yield likeness(path, parent) + 0.1 * sum(place(part) < 3 for part in parts), parts, cuts


def _cuts(shape: tuple[int, ...], parts: list[Any]) -> list[tuple[int, Arrangement]]:
    """Return the axes along which a tensor may be cut into these parts, with the arrangement of each."""
    if None in parts:
        return []
    found = []
    for axis, size in enumerate(shape[:2]):
        part = (*shape[:axis], size // len(parts), *shape[axis + 1 :])
        if size % len(parts) == 0 and len({given for _, given in parts}) == 1:
            found += [(axis, way) for way in arrangements(parts[0][1], part)]
    return found


def _joined(one: Any, order: list[Any], cuts: Mapping[str, Any], turned: bool) -> tuple[Entries, ...]:
    ways: list[Entries] = [{}, {}]
    for role, (name, _) in one.items():
        found = sorted(cuts[role], key=lambda cut: cut[1].turned != turned)
        for turn, entries in enumerate(ways):
            axis, arranged = found[min(turn, len(found) - 1)]
            entries[name] = Entry(tuple(part[role][0] for part in order), arranged, axis)
    return tuple(ways) if ways[0] != ways[1] else (ways[0],)


def _cut(one: Any, order: list[Any], turned: bool) -> tuple[Entries, ...]:
    ways: list[Entries] = [{}, {}]
    for role, (packed_name, given) in one.items():
        shape = order[0][role][1]
        wholes = [(axis, (*shape[:axis], size * len(order), *shape[axis + 1 :])) for axis, size in enumerate(shape[:2])]
        found = [(axis, way) for axis, whole in wholes for way in arrangements(given, whole)]
        found = sorted(found, key=lambda cut: cut[1].turned != turned)
        for turn, entries in enumerate(ways):
            axis, arranged = found[min(turn, len(found) - 1)]
            for number, part in enumerate(order):
                borders = (number * shape[axis], (number + 1) * shape[axis])
                entries[part[role][0]] = Entry((packed_name,), arranged, axis, borders)
    return tuple(ways) if ways[0] != ways[1] else (ways[0],)
