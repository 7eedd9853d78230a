"""Attribution of a difference to a framework's own parts: one switch at a time, from both ends.

From the injected training one switch is turned to the framework's own (``added``), and from the native training one is turned
back (``removed``). A part that acts by itself shows in the first; one that acts only in company, in the second.

A switch is named when it moves the metric beyond doubt, within the margin or not: what is asked here is where a difference
comes from, and several causes that are each within the margin make one that is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .runner import Asked, Run
from .statistics import LEVEL
from .switches import INJECTED, NATIVE, SWITCHES
from .verdicts import DIFFERENT, MARGIN, Line, lines

NEGLIGIBLE = 0.01  # of a seed deviation: rounding that always goes one way is certain too, and no cause
ADDED, REMOVED = "added", "removed"
FIGURES = ("verdict", "difference", "low", "high", "p", "sign_flip", "detectable")  # of a Line
METRIC = "mean log loss"  # every step counts, so that it has the least noise


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The effect of one switch on a column's mean log loss: own part minus injected one.

    Attributes:
        way: ``added`` to the injected training, or ``removed`` from the native one.
        difference, low, high, p, sign_flip, detectable: as of a Line, in units of the reference's seed deviation.
        moves: whether the shift is certain, and its whole interval more than a hundredth of that deviation.
    """

    column: str
    switch: str
    way: str
    verdict: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    sign_flip: float | None
    detectable: float | None
    moves: bool


def own_switches(without: Mapping[str, str]) -> frozenset[str]:
    """Return the switches that a framework has something of its own for."""
    return NATIVE - set(without)


def states(without: Mapping[str, str]) -> list[frozenset[str]]:
    """Return the own parts that each training of the attribution has: all and none of them first."""
    own = own_switches(without)
    alone = [frozenset({one}) for one in sorted(own)]
    return list(dict.fromkeys([own, INJECTED, *alone, *(own - one for one in alone)]))


def effects(column: str, runs: Sequence[Run], reference: Sequence[float], margin: float = MARGIN) -> list[Effect]:
    """Return the effects of every switch that the runs vary, in both directions.

    Args:
        runs: the column's, of all states and seeds. reference: its mean log losses, whose deviation is the unit.
    """
    values: dict[frozenset[str], list[float]] = {}
    for run in sorted(runs, key=lambda one: one.seed):
        values.setdefault(frozenset(run.own), []).append(run.mean_log_loss)
    native = max(values, key=len)
    moved: dict[tuple[str, str], list[float]] = {}
    for switch in (name for name in SWITCHES if name in native):
        for way, more, less in ((ADDED, frozenset({switch}), INJECTED), (REMOVED, native, native - {switch})):
            pairs = zip(values[more], values[less], reference, strict=True)
            # As if the reference had moved: the pair's difference, and the reference's own deviation.
            moved[switch, way] = [base + own - injected for own, injected, base in pairs]
    judged = lines(METRIC, reference, {f"{switch} {way}": each for (switch, way), each in moved.items()}, margin)
    figures = [{name: getattr(line, name) for name in FIGURES} for line in judged]
    places = zip(moved, judged, figures, strict=True)
    return [Effect(column=column, switch=name, way=way, moves=_moves(line), **own) for (name, way), line, own in places]


def _moves(line: Line) -> bool:
    if line.low is None or line.high is None or line.p is None or line.sign_flip is None:
        return line.verdict == DIFFERENT  # not a number
    certain = line.p <= LEVEL and line.sign_flip <= LEVEL
    return certain and (line.low > NEGLIGIBLE or line.high < -NEGLIGIBLE)


def named(found: Sequence[Effect]) -> list[str]:
    """The switches that move the metric in either direction, the largest first."""
    largest: dict[str, float] = {}
    for effect in found:
        if effect.moves:
            size = math.inf if effect.difference is None else abs(effect.difference)
            largest[effect.switch] = max(largest.get(effect.switch, 0.0), size)
    return sorted(largest, key=largest.__getitem__, reverse=True)


def asked(without: Mapping[str, str], seeds: Sequence[int]) -> list[Asked]:
    return [Asked(seed, own) for own in states(without) for seed in seeds]
