"""Layers that one side holds stacked in one tensor each, as a scan over layers has them, and the other side one by one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from .matching_choices import Entries, fits, modules_of
from .matching_entries import Entry, named
from .matching_names import likeness
from .weight_map import Shapes

NUMBERED = re.compile(r"^(.*?)(\d+)$")
ALIKE = 0.25  # by how much the numbers of a stack may be more or fewer than those of the layers
CLEARLY = 0.5  # likeness of names by which a tensor is another one than a layer's


class Layer(NamedTuple):
    """A layer's share of a stacked tensor: its number and the shape of the whole."""

    name: str
    number: int
    shape: tuple[int, ...]


Shares = Mapping[str, Layer]  # by the name that the share is given


def unstacked(shapes: Shapes, other: Shapes) -> tuple[Shapes, Shares]:
    """Return a side's tensors with what is stacked taken apart, as the layers of the other side are, and what each share is.

    The name of a share has the layer's number where the names of the stack begin to differ.
    """
    for count, size, path in sorted(_layers(other), reverse=True):
        for prefix in sorted(_prefixes(shapes), key=lambda one: -likeness(f"{one}.0", path)):
            stacked = [name for name in _under(prefix, shapes) if _may_be(name, shapes, other, count)]
            total = sum(prod(shapes[name]) for name in stacked)
            if stacked and abs(total - size) <= ALIKE * size:
                return _apart(shapes, stacked, prefix, count)
    return shapes, {}


def _layers(shapes: Shapes) -> set[tuple[int, int, str]]:
    """Return how many equal layers there are, how many numbers these hold, and a path, of each set of numbered names."""
    groups: dict[tuple[str, str], dict[int, dict[str, tuple[int, ...]]]] = defaultdict(lambda: defaultdict(dict))
    for name, shape in shapes.items():
        levels = name.split(".")
        for place, level in enumerate(levels[:-1]):
            if found := NUMBERED.match(level):
                before = ".".join(levels[:place])
                groups[before, found[1]][int(found[2])][".".join(levels[place + 1 :])] = shape
    equal = set()
    for (before, stem), members in groups.items():
        first, *rest = members.values()
        if rest and all(one == first for one in rest):
            equal.add((len(members), len(members) * sum(map(prod, first.values())), f"{before}.{stem}.0".strip(".")))
    return equal


def _prefixes(shapes: Shapes) -> set[str]:
    levels = [name.split(".") for name in shapes]
    return {".".join(each[:place]) for each in levels for place in range(len(each))}


def _under(prefix: str, shapes: Shapes) -> list[str]:
    return [name for name in shapes if not prefix or name.startswith(f"{prefix}.")]


def _may_be(name: str, shapes: Shapes, other: Shapes, count: int) -> bool:
    """Tell whether it is as long as there are layers, and no tensor of the other side by itself."""
    shape = shapes[name]
    if len(shape) < 2 or shape[0] != count:
        return False
    (path, one), *_ = modules_of({name: shape}).items()
    rest = modules_of({key: value for key, value in other.items() if value == shape})
    return not any(fits(one, tensors) and likeness(path, there) >= CLEARLY for there, tensors in rest.items())


def _apart(shapes: Shapes, stacked: list[str], prefix: str, count: int) -> tuple[Shapes, Shares]:
    found: dict[str, tuple[int, ...]] = {name: shape for name, shape in shapes.items() if name not in stacked}
    shares = {}
    for number in range(count):
        for name in stacked:
            rest = name[len(prefix) + 1 :] if prefix else name
            share = ".".join(filter(None, [prefix, str(number), rest]))
            found[share], shares[share] = shapes[name][1:], Layer(name, number, shapes[name])
    return found, shares


def restacked(entries: Entries, shares: Shares, there: Shares) -> Entries:
    """Return entries between shares as those between the tensors that hold them, without one of which a share is missing."""
    from_there = {name: named(share.name).part(share.number) for name, share in there.items()}
    found: Entries = {}
    layers: dict[str, dict[int, Entry]] = defaultdict(dict)
    for name, entry in entries.items():
        entry = entry.renamed(from_there)
        if name in shares:
            layers[shares[name].name][shares[name].number] = entry
        else:
            found[name] = entry
    whole = {share.name: share.shape for share in shares.values()}
    for name, each in layers.items():
        constants = {entry.constant for entry in each.values()}
        if len(each) < whole[name][0]:
            continue
        if constants != {None}:
            found[name] = each[0]
            continue
        shape = whole[name]
        found[name] = Entry(tuple(each[number].reshape(1, *shape[1:]) for number in range(shape[0])))
    return found


def held(names: tuple[str, ...], shares: Shares) -> tuple[str, ...]:
    """Return the tensors that hold these shares, each once."""
    return tuple(dict.fromkeys(shares[name].name if name in shares else name for name in names))
