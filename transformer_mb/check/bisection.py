"""The place where a failed candidate first differs: every module of it is fed what the reference's was, forward and backward.

One run does it for all modules: what each computes is kept, and what the reference's computed is handed on. So a module's own
error holds nothing of those before it, nor of those inside it. Its gradients are asked for in the same way. What float32 inside
a float64 run explains is found module by module: see ``_is_deaf``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..errors import WorkerError
from ..parity.verdict.limits import TIMES, worst
from .cases import Case
from .feeding import Fed, Own, Pick
from .limits import FLOAT32_INSIDE, Figure, Yardstick, comparable, judged, measured, wrong
from .pairing import Pair, Same, in_order, paired_calls, paired_sites, parent_of
from .session import Session
from .side import Passed
from .taps import NUMBERS, Site
from .tree import QUANTILES, Node, Tree

OTHERWISE = 0.01  # of the reference's own movement
SIDES = ("the reference", "the candidate")


def bisect(session: Session, case: Case, dtype: str, backward: bool | None = None) -> Tree:
    """Examine all paired modules of a case, each fed what the reference's module is fed.

    Args:
        case: of ``session.draw``. dtype: of the candidate's run, such as ``float64``.
        backward: examine gradients too; None does so where the session compares gradients.
    Returns: the modules in the order in which the reference's end.
    Raises: WorkerError where a subject raises an error or ends.
    """
    weights = session.map.to_candidate(case.weights)
    backward = session.gradients if backward is None else backward
    arguments = (case.inputs, case.seed, backward)
    reference, candidate = session.at_once(
        lambda: session.reference.record(session.truth, case.weights, *arguments),
        lambda: session.candidate.record(dtype, weights, *arguments),
    )
    pairs = paired_calls(session.map, reference, candidate)
    paths = [pair.reference for pair in pairs]

    def places(*ways: str) -> list[Same]:
        return [one for pair in pairs for way in ways for one in paired_sites(pair, way, reference, candidate)]

    def examined(same: list[Same]) -> dict[Pair, Node]:
        verdicts = _Verdicts(Fed(session, case, dtype, reference, same))
        nodes, ours = {}, in_order(candidate, same)
        for pair in pairs:
            inside = [one for one in same if one.pair.reference and parent_of(one.pair.reference, paths) == pair.reference]
            itself = [one for one in same if one.pair == pair]
            nodes[pair] = verdicts.node(pair, itself, inside, paths, _inherited(itself, reference, ours))
        return nodes

    floats = places("in", "out")
    nodes = examined(floats)
    # Whole numbers may be counted otherwise on purpose: they are put right where that alone puts their module right.
    tried = [one for one in places(NUMBERS) if nodes[one.pair].failed and _differ(one, reference, candidate)]
    if tried:
        try:
            again = examined([*floats, *tried])
            mended = [one for one in tried if not again[one.pair].failed]
            nodes = again if mended == tried else examined([*floats, *mended]) if mended else nodes
        except WorkerError:  # as rows that a table does not have: it counts otherwise
            pass
    return Tree(dtype, tuple(nodes.values()))


def _differ(one: Same, reference: Passed, candidate: Passed) -> bool:
    return not np.array_equal(reference.values[one.reference[0]], candidate.values[one.candidate[0]])


class _Verdicts:
    """The verdicts on what each of the candidate's modules computes by itself."""

    def __init__(self, fed: Fed):
        self.fed, self.dtype = fed, fed.dtype
        self.deaf: set[str] = set()  # the sides of the module in hand that compute in float32 in a float64 run

    def node(self, pair: Pair, itself: list[Same], inside: list[Same], paths: list[str], inherited: float | None) -> Node:
        """Judge a module: what it returns and what it gives to those inside; backward the reverse, and its weights."""
        self.deaf = set()
        computed = [one for one in itself if one.way == "out"] + [one for one in inside if one.way in ("in", NUMBERS)]
        forward = [self._values(one, pair) for one in computed]
        given = [one for one in itself if one.way == "in"] + [one for one in inside if one.way == "out"]
        backward = [found for one in given if (found := self._gradients(one, pair)) is not None]
        if pair.number == 0:
            backward += self._weights(pair.reference, paths)
        worst = _worst(forward)
        quantiles, usual = ((), ()) if worst is None else self._quantiles(computed[forward.index(worst)])
        single = tuple(dict.fromkeys(one.part for one in (*forward, *backward) if one.rule is not None))
        return Node(*pair, worst, _worst(backward), inherited, quantiles, usual, single, tuple(sorted(self.deaf)))

    def _values(self, one: Same, pair: Pair) -> Figure:
        part = "what it returns" if one.pair == pair else f"what it gives to {one.pair.reference}"
        ours, theirs = one.candidate[0], one.reference[0]
        if ours not in self.fed.got.passed.values:
            return wrong(part, self.dtype, "the candidate's module was not called")
        return self._judged("outputs", part, partial(_value, ours), partial(_value, theirs))

    def _gradients(self, one: Same, pair: Pair) -> Figure | None:
        if not any(site in self.fed.exact.passed.gradients for site in one.reference):
            return None
        part = "the gradient of what it " + ("is given" if one.pair == pair else f"has from {one.pair.reference}")
        shape = self.fed.exact.passed.values[one.reference[0]].shape
        ours, theirs = (partial(_gradient, sites, shape) for sites in (one.candidate, one.reference))
        return self._judged("gradients", part, ours, theirs)

    def _weights(self, path: str, paths: list[str]) -> list[Figure]:
        """Judge the gradients of the weights that it holds itself, not in a module that is paired."""
        found = []
        for name in self.fed.exact.weights:
            if parent_of(name, paths) == path and name in self.fed.got.weights:
                of = partial(_weight_gradient, name)
                found.append(self._judged("gradients", f"the gradient of {name}", of, of))
        return found

    def _judged(self, kind: str, part: str, ours: Pick, theirs: Pick) -> Figure:
        """Hold one array to the limits of the dtype; to those of float32 where it is computed in that in a float64 run."""
        got, exact, words = comparable({part: ours(self.fed.got)}, {part: theirs(self.fed.exact)})
        if words:
            return wrong(part, self.dtype, words[part])
        if not got:  # whole numbers that are equal
            return Figure(part, self.dtype, True, 0.0, 1.0, "equal")
        off = measured(kind, got, exact)
        figure = judged(kind, self.dtype, off, self._yardstick(kind, part, theirs, self.dtype))[0]
        if figure.passed or self.dtype != "float64" or figure.error > FLOAT32_INSIDE * TIMES[figure.figure]:
            return figure
        if not self._is_deaf(ours, theirs):
            return figure
        self.deaf |= self._deaf_sides(ours, theirs)
        return judged(kind, self.dtype, off, self._yardstick(kind, part, theirs, "float32"), rule="float32")[0]

    def _yardstick(self, kind: str, part: str, theirs: Pick, dtype: str) -> Yardstick:
        draws, exact = self.fed.draws(dtype), theirs(self.fed.exact)
        own = [_errors(kind, part, theirs(inexact), theirs(truth)) for truth, inexact in draws if inexact is not None]
        moved = [_errors(kind, part, theirs(truth), exact) for truth, _ in draws[1:]]
        return Yardstick(*({part: _largest(found)} if found else {} for found in (own, moved)))

    def _is_deaf(self, ours: Pick, theirs: Pick) -> bool:
        """Tell whether both sides follow a tiny change of all that they are fed differently, though they are nearly equal.

        Two formulas that are nearly equal have nearly equal slopes. Float32 somewhere inside is deaf to such a change or jumps.
        """
        reference, candidate = self.fed.nudged
        expected = _moved(theirs(self.fed.exact), theirs(reference))
        return bool(
            np.linalg.norm(_moved(ours(self.fed.got), ours(candidate)) - expected) > OTHERWISE * np.linalg.norm(expected)
        )

    def _deaf_sides(self, ours: Pick, theirs: Pick) -> set[str]:
        """Name the sides that a change does not move, or its opposite not by the opposite way."""
        picks, exact = (theirs, ours), (self.fed.exact, self.fed.got)
        there, back = (
            [_moved(pick(still), pick(one)) for pick, still, one in zip(picks, exact, both, strict=True)]
            for both in (self.fed.nudged, self.fed.nudged_back)
        )
        least = OTHERWISE * worst([float(np.linalg.norm(one)) for one in there])
        ways = zip(SIDES, there, back, strict=True)
        return {side for side, one, other in ways if np.linalg.norm(one) <= least or np.linalg.norm(one + other) > least}

    def _quantiles(self, one: Same) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return those of the candidate's error, and of the reference's where it computes in the dtype too."""
        exact, inexact = self.fed.draws(self.dtype)[0]
        expected = exact.passed.values[one.reference[0]]
        usual = None if inexact is None else inexact.passed.values[one.reference[0]]
        return _spread(self.fed.got.passed.values.get(one.candidate[0]), expected), _spread(usual, expected)


def _value(site: Site, own: Own) -> np.ndarray:
    return own.passed.values[site]


def _gradient(sites: tuple[Site, ...], shape: tuple[int, ...], own: Own) -> np.ndarray:
    """Return the gradient of all sites together; zeros where nothing depends on them."""
    return np.sum([np.zeros(shape), *(own.passed.gradients[one] for one in sites if one in own.passed.gradients)], axis=0)


def _weight_gradient(name: str, own: Own) -> np.ndarray:
    return own.weights[name]


def _moved(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the movement; none where a number is infinite, as masks are."""
    finite = np.isfinite(before) & np.isfinite(after)
    return np.where(finite, after, 0.0) - np.where(finite, before, 0.0)


def _spread(got: np.ndarray | None, exact: np.ndarray) -> tuple[float, ...]:
    if got is None or got.shape != exact.shape or not exact.size:
        return ()
    size = float(np.sqrt(np.mean(np.square(exact)))) or 1.0
    return tuple(float(value) for value in np.quantile(np.abs(got - exact) / size, QUANTILES))


def _errors(kind: str, part: str, got: np.ndarray, exact: np.ndarray) -> Any:
    return measured(kind, {part: got}, {part: exact})[part]


def _largest(found: list[Any]) -> Any:
    return type(found[0])(*(max(one[figure] for one in found) for figure in range(2)))


def _worst(figures: Iterable[Figure]) -> Figure | None:
    return max(figures, key=lambda one: (not one.passed, one.share), default=None)


def _inherited(itself: list[Same], reference: Passed, candidate: Passed) -> float | None:
    for one in itself:
        if one.way == "out":
            got, exact = candidate.values[one.candidate[0]], reference.values[one.reference[0]]
            if got.shape == exact.shape:
                return float(measured("outputs", {"": got}, {"": exact})[""].norm)
    return None
