"""The choices that names and shapes leave between two sides' tensors, from which a map is tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, permutations
from typing import NamedTuple

from .matching_choices import Choice, Modules, modules_of, mostly_turned, paired, tensors_of, tied, ways_of
from .matching_cuts import packed_entries, unpacked_entries
from .matching_entries import filled
from .matching_names import parted
from .matching_packs import pack_choices, packs, repacked, unfitting
from .weight_map import Shapes

FEW = 3  # modules that no name tells apart, of which all orders are tried; of more each two change places
NOTHING = {"bias": 0.0, "weight": 1.0}  # what a vector without a partner does nothing with


class Draft(NamedTuple):
    """Choices, and the tensors of each side that nothing fits; ``fillings``: what a number fills in the reference."""

    choices: list[Choice]
    left: tuple[str, ...]
    left_there: tuple[str, ...]
    fillings: tuple[str, ...] = ()


def drafted(here: Shapes, there: Shapes, kinds: tuple[str, str]) -> Draft:
    """Pair what is packed first and cannot be anything else, then modules, then what is left tensor by tensor."""
    ours, theirs = modules_of(here), modules_of(there)
    turned = mostly_turned(_by_modules(ours, theirs, False)[0], here, there, kinds)
    choices: list[Choice] = []

    def pack(paths: list[str], paths_there: list[str]) -> None:
        """Take the packs of these modules out of both sides."""
        for wholes, parts, named, make in (
            (ours, theirs, paths, packed_entries),
            (theirs, ours, paths_there, unpacked_entries),
        ):
            found = packs(wholes, parts, [path for path in named if path in wholes], make)
            choices.extend(pack_choices(found, wholes, parts, turned, make))
            for one in found:
                del wholes[one.whole]
                for path in one.parts:
                    del parts[path]

    def one_to_one() -> tuple[list[str], list[str]]:
        found, rest, rest_there = _by_modules(ours, theirs, turned)
        choices.extend(found)
        return rest, rest_there

    pack(unfitting(ours, theirs), unfitting(theirs, ours))
    rest, rest_there = one_to_one()
    for wholes, paths in ((ours, rest), (theirs, rest_there)):
        left = {path: wholes[path] for path in paths}
        wholes.clear()
        wholes.update(left)
    pack(rest, rest_there)
    ours, theirs = tensors_of(ours, ours), tensors_of(theirs, theirs)
    pack(unfitting(ours, theirs), unfitting(theirs, ours))
    rest, rest_there = one_to_one()
    alone = [name for name in rest if len(here[name]) == 1 and parted(name)[1] in NOTHING]
    fillings = [] if rest_there else alone
    choices += [Choice((({name: filled(NOTHING[parted(name)[1]])},),), True, ("filled",)) for name in fillings]
    return Draft(choices, tuple(name for name in rest if name not in fillings), tuple(rest_there), tuple(fillings))


def _by_modules(here: Modules, there: Modules, turned: bool) -> tuple[list[Choice], list[str], list[str]]:
    """Return the choices between modules that fit one to one, and the paths that are left on each side."""
    pairs, alike = paired(here, there)
    choices = []
    for group in tied(pairs, alike):
        orders = [order for order in _orders([b for _, b in group]) if all(_fit(group, order, alike))]
        ways = [ways_of([(here[a], there[b], a) for (a, _), b in zip(group, order, strict=True)], turned) for order in orders]
        again = repacked(*group[0], here[group[0][0]], there[group[0][1]], turned) if len(group) == 1 else []
        choices.append(Choice((*ways, *again), len(group) == 1, ("modules", len(ways + again), len(group)), bool(again)))
    left = [sorted(set(side) - {pair[i] for pair in pairs}) for i, side in enumerate((here, there))]
    return choices, left[0], left[1]


def _orders(paths: list[str]) -> list[tuple[str, ...]]:
    """Return all orders of a few, of more those in which two have changed places."""
    if len(paths) <= FEW:
        return list(permutations(paths))
    swapped = []
    for i, j in combinations(range(len(paths)), 2):
        other = list(paths)
        other[i], other[j] = paths[j], paths[i]
        swapped.append(tuple(other))
    return [tuple(paths), *swapped]


def _fit(group: list[tuple[str, str]], order: tuple[str, ...], alike: Mapping[tuple[str, str], float]) -> Iterable[bool]:
    return ((a, b) in alike for (a, _), b in zip(group, order, strict=True))
