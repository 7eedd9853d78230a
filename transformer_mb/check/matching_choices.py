"""Tensors that may be the same, by the modules that hold them, their names and shapes; what these leave open is a choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .matching_entries import Entry, named
from .matching_names import likeness, parted, words
from .matching_shapes import arrangements
from .weight_map import Shapes

CLEARLY = 0.04  # by how much names must be less alike, taken together, for another order not to be tried
OUT_FIRST = ("torch", "gluon")  # whose linear layers hold [out, in]
Modules = dict[str, dict[str, tuple[str, tuple[int, ...]]]]  # by path and role: the name and the shape
Entries = dict[str, Entry]


@dataclass(frozen=True)
class Choice:
    """Entries that go together, in each order and each way round that shapes allow.

    Args:
        orders: the likeliest first; each holds the entries as they lie, and as they may lie otherwise.
        named: names tell the first order from the others. kind: equal where one answer is likely to hold for all.
        packed: a layer that answers as its partner proves nothing, since another one takes its answer apart.
    """

    orders: tuple[tuple[Entries, ...], ...]
    named: bool
    kind: tuple[Any, ...] = ()
    packed: bool = False

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
        if role in found[path]:  # such as the gamma and the w of one module
            role = name
        found[path][role] = (name, shape)
    return dict(found)


def tensors_of(modules: Modules, paths: Iterable[str]) -> Modules:
    """Return the tensors of modules each as if it were a module."""
    return {name: {"": (name, shape)} for path in paths for name, shape in modules[path].values()}


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


def ways_of(pairs: list[tuple[Any, Any, str]], turned: bool) -> tuple[Entries, ...]:
    """Return the entries of modules that are paired, and those with arrays that may lie otherwise lying so."""
    found: dict[str, list[Entry]] = {}
    for one, other, path in pairs:
        for role, (name, shape) in one.items():
            ways = arrangements(other[role][1], shape)
            if is_table(path, name) or is_table("", other[role][0]):
                ways = ways[:1]
            elif turned:
                ways = sorted(ways, key=lambda way: not way.turned)
            found[name] = [way.of(named(other[role][0])) for way in ways]
    most = max((len(ways) for ways in found.values()), default=1)
    return tuple({name: ways[min(turn, len(ways) - 1)] for name, ways in found.items()} for turn in range(most))


def mostly_turned(choices: Iterable[Choice], shapes: Shapes, there: Shapes, kinds: tuple[str, str]) -> bool:
    """Tell whether matrices lie the other way round in the candidate: as those do that are not square, else as is usual."""
    flags = []
    for choice in choices:
        for name, entry in choice.at(0, 0).items():
            shape, other = shapes[name], there[entry.names[0]]
            if len(shape) == len(other) == 2 and shape[0] != shape[1] and not is_table(*parted(name)[:1], name):
                flags.append(shape == other[::-1])
    return sum(flags) * 2 > len(flags) if flags else (kinds[0] in OUT_FIRST) != (kinds[1] in OUT_FIRST)
