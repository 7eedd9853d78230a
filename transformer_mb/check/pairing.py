"""Modules of both sides paired by the weights that they hold, and what passes there paired by what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from .layouts import Layout, layouts, nearest, turned_back
from .side import Passed
from .taps import Site
from .weight_map import WeightMap

OTHERWISE = 10.0  # how much less alike modules are that are given, or return, one array more: more than any other values
NEAR = 0.1  # relative: an argument of a module that is so near to one of the reference's is that one


class Pair(NamedTuple):
    """Two calls of modules that stand for each other; the whole of each side has the empty path."""

    reference: str
    candidate: str
    number: int


class Same(NamedTuple):
    """Sites of both sides at which the same array passes: several where a module is given it more than once."""

    pair: Pair
    way: str
    reference: tuple[Site, ...]
    candidate: tuple[Site, ...]
    layout: Layout


def under(path: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names of what a module holds."""
    return frozenset(name for name in names if not path or name.startswith(f"{path}."))


def parent_of(path: str, paths: Iterable[str]) -> str:
    """Return the longest of the paths that a path lies inside; the whole is the empty one."""
    return max((one for one in paths if one and path.startswith(f"{one}.")), key=len, default="")


def paired_modules(
    weights: WeightMap,
    reference: Sequence[str],
    candidate: Sequence[str],
    unlike: Callable[[str, str], float] = lambda path, other: 0.0,
) -> dict[str, str]:
    """Pair the paths of modules that were called: those that hold the same weights.

    Of several one inside the other, as a norm inside what adds to its input, those that are least ``unlike``, else the outer
    with the outer. Modules without weights are paired where their parents are and their own names are equal.
    """
    ours: dict[frozenset[str], list[str]] = {}
    theirs: dict[frozenset[str], list[str]] = {}
    for path in filter(None, reference):
        held = frozenset().union(*(weights.partners(name) for name in under(path, weights.shapes)))
        theirs.setdefault(held, []).append(path)
    for path in filter(None, candidate):
        ours.setdefault(under(path, weights.there) - set(weights.kept_there), []).append(path)
    pairs = {"": ""}
    for held, paths in theirs.items():
        if held:
            pairs |= _nested(sorted(paths, key=_depth), sorted(ours.get(held, []), key=_depth), unlike)
    taken = set(pairs.values())
    for path in theirs.get(frozenset(), []):
        parent, name = parent_of(path, pairs), path.rpartition(".")[2]
        other = f"{pairs[parent]}.{name}".lstrip(".")
        if path.rpartition(".")[0] == parent and other in candidate and other not in taken:
            pairs[path] = other
    return pairs


def _depth(path: str) -> int:
    return path.count(".")


def _nested(paths: list[str], others: list[str], unlike: Callable[[str, str], float]) -> dict[str, str]:
    """Pair as many as there are on both sides, without crossing."""
    count = min(len(paths), len(others))
    ways = product(combinations(paths, count), combinations(others, count))
    return dict(zip(*min(ways, key=lambda way: sum(map(unlike, *way))), strict=True)) if count else {}


def _unlike(reference: Passed, candidate: Passed) -> Callable[[str, str], float]:
    """Return how unlike two modules are in their first call: in what enters and leaves, how many arrays and which."""

    def unlike(path: str, other: str) -> float:
        found = 0.0
        for way in ("in", "out"):
            ours = [reference.values[site] for site in _sites(reference.values, path, 0, way)]
            theirs = [candidate.values[site] for site in _sites(candidate.values, other, 0, way)]
            found += OTHERWISE * abs(_different(ours) - _different(theirs))
            if ours and theirs:
                found += min(1.0, min(nearest(one, value)[0] for one in theirs for value in ours))
        return found

    return unlike


def _different(arrays: list[np.ndarray]) -> int:
    """Count arrays; one that is given several times counts once."""
    return sum(not any(_equal(array, other) for other in arrays[:n]) for n, array in enumerate(arrays))


def paired_calls(weights: WeightMap, reference: Passed, candidate: Passed) -> list[Pair]:
    """Return the calls of paired modules, in the order in which the reference's end."""
    calls, others = _calls(reference), _calls(candidate)
    modules = paired_modules(weights, list(calls), list(others), _unlike(reference, candidate))
    ends: dict[Pair, None] = {}
    for site in reference.values:
        if site.way == "out" and site.path in modules and site.number < others.get(modules[site.path], 0):
            ends[Pair(site.path, modules[site.path], site.number)] = None
    return list(ends)


def _calls(passed: Passed) -> dict[str, int]:
    """Return the number of calls of each module, in the order of the first."""
    calls: dict[str, int] = {}
    for site in passed.values:
        calls[site.path] = max(calls.get(site.path, 0), site.number + 1)
    return calls


def paired_sites(pair: Pair, way: str, reference: Passed, candidate: Passed) -> list[Same]:
    """Pair what enters or leaves two modules: what is nearly equal first, then what has the same shape in order."""
    theirs = _sites(reference.values, pair.reference, pair.number, way)
    ours = _sites(candidate.values, pair.candidate, pair.number, way)
    if way == "out" and not pair.reference:  # what the whole returns has its place there, and its axes their order
        return [
            Same(pair, way, (one,), (site,), next(layouts(reference.values[one].ndim)))
            for one, site in zip(theirs, ours, strict=False)
        ]
    groups: list[list[Site]] = []
    for site in theirs:
        alike = next((group for group in groups if _equal(reference.values[site], reference.values[group[0]])), None)
        if alike is None or way == "out":
            groups.append([site])
        else:
            alike.append(site)
    chosen: dict[int, tuple[Layout, list[Site]]] = {}
    left = []
    for site in ours:
        found = [nearest(candidate.values[site], reference.values[group[0]]) for group in groups]
        best = min(range(len(found)), key=lambda n: found[n][0], default=-1)
        if best >= 0 and found[best][0] <= NEAR and (way == "in" or best not in chosen):
            chosen.setdefault(best, (found[best][1], []))[1].append(site)
        else:
            left.append(site)
    for site in left:
        same = [n for n, (_, sites) in chosen.items() if _equal(candidate.values[site], candidate.values[sites[0]])]
        if way == "in" and same:  # attention is given queries, keys and values, which are one array
            chosen[same[0]][1].append(site)
            continue
        shape = candidate.values[site].shape
        free = [(n, reference.values[group[0]]) for n, group in enumerate(groups) if n not in chosen]
        fitting = [(n, layout) for n, one in free for layout in layouts(one.ndim) if one.transpose(layout).shape == shape]
        if fitting:
            number, layout = min(fitting, key=lambda one: one[1] != tuple(range(len(one[1]))))
            chosen[number] = layout, [site]
    return [Same(pair, way, tuple(groups[n]), tuple(sites), layout) for n, (layout, sites) in sorted(chosen.items())]


def in_order(candidate: Passed, same: Iterable[Same]) -> Passed:
    """Return the candidate's arrays with their axes in the reference's order, wherever sites are paired."""
    found = Passed(dict(candidate.values), dict(candidate.gradients))
    for one in same:
        for site in one.candidate:
            for kind in (found.values, found.gradients):
                if site in kind:
                    kind[site] = turned_back(kind[site], one.layout)
    return found


def _sites(values: Mapping[Site, np.ndarray], path: str, number: int, way: str) -> list[Site]:
    return [site for site in values if (site.path, site.number, site.way) == (path, number, way)]


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one, other))
