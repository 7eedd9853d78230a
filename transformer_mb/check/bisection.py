"""The place where a failed candidate first differs: every module of it is fed what the reference's was, forward and backward.

One run does it for all modules: what each computes is kept, and what the reference's computed is handed on. So a module's own
error holds nothing of those before it, nor of those inside it. Its gradients are asked for in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..random_streams import stream
from ..rounding import rounded
from .cases import EPS, Case
from .limits import Figure, Yardstick, comparable, judged, measured, wrong
from .pairing import Pair, Same, paired_calls, paired_sites, parent_of
from .session import Session
from .side import Passed
from .taps import Site
from .tree import QUANTILES, Node, Tree

COPIES = 2  # perturbed copies of what the modules are fed, which measure what they lose


def bisect(session: Session, case: Case, dtype: str, backward: bool | None = None) -> Tree:
    """Examine all paired modules of a case in a dtype, backward too where the session compares gradients."""
    weights = session.map.to_candidate(case.weights)
    backward = session.gradients if backward is None else backward
    arguments = (case.inputs, case.seed, backward)
    reference, candidate = session.at_once(
        lambda: session.reference.record(session.truth, case.weights, *arguments),
        lambda: session.candidate.record(dtype, weights, *arguments),
    )
    pairs = paired_calls(session.map, reference, candidate)
    same = [one for pair in pairs for way in ("in", "out") for one in paired_sites(pair, way, reference, candidate)]
    fed = _Fed(reference, same)
    exact, yardstick = _measured(session, case, dtype, reference)
    own, by_weight = session.candidate.exchange(dtype, weights, case.inputs, fed.values, fed.cotangents, case.seed)
    found = _Own(session, dtype, exact, yardstick, fed, Own(own, session.arranged(by_weight)))
    paths = [pair.reference for pair in pairs]
    nodes = []
    for pair in pairs:
        inside = [one for one in same if one.pair.reference and parent_of(one.pair.reference, paths) == pair.reference]
        itself = [one for one in same if one.pair == pair]
        nodes.append(found.node(pair, itself, inside, paths, _inherited(itself, reference, candidate)))
    return Tree(dtype, tuple(nodes))


@dataclass(frozen=True)
class Own:
    """The results of modules by themselves, and the gradients of weights by the reference's names."""

    passed: Passed
    weights: Mapping[str, np.ndarray]


class _Fed:
    """The values that replace the results of the candidate's modules, and the gradients that follow."""

    def __init__(self, reference: Passed, same: Iterable[Same]):
        self.values: dict[Site, np.ndarray] = {}
        self.cotangents: dict[Site, np.ndarray] = {}
        for one in same:
            gradients = [reference.gradients[site] for site in one.reference if site in reference.gradients]
            for site in one.candidate:
                self.values[site] = reference.values[one.reference[0]]
                if gradients:  # what is given several times has the gradient of all of them together
                    self.cotangents[site] = np.sum(gradients, axis=0) / len(one.candidate)


def _measured(session: Session, case: Case, dtype: str, reference: Passed) -> tuple[Own, list[tuple[Own, Own | None]]]:
    """Return what the reference's modules compute exactly when fed so, and of copies also what they do in the dtype."""

    def asked(values: Mapping[Site, np.ndarray], way: str) -> Own:
        found = session.reference.exchange(way, case.weights, case.inputs, values, reference.gradients, case.seed)
        return Own(*found)

    def copy(number: int) -> dict[Site, np.ndarray]:
        signs = stream("fed", number, case.seed)
        values = {}
        for site, value in reference.values.items():
            moved = value * (1.0 + EPS[dtype] * signs.choice([-1.0, 1.0], value.shape)) if number else value
            values[site] = rounded(moved, dtype).astype(np.float64)
        return values

    found = []
    for number in range(COPIES + 1):
        values = copy(number)
        inexact = asked(values, dtype) if dtype != session.truth and session.reference.offers(dtype) else None
        found.append((asked(values, session.truth), inexact))
    return found[0][0], found


class _Own:
    """The verdicts on what each of the candidate's modules computes by itself."""

    def __init__(self, session: Session, dtype: str, exact: Own, draws: list[tuple[Own, Own | None]], fed: _Fed, got: Own):
        self.session, self.dtype, self.exact, self.draws, self.fed, self.got = session, dtype, exact, draws, fed, got

    def node(self, pair: Pair, itself: list[Same], inside: list[Same], paths: list[str], inherited: float | None) -> Node:
        """Judge a module: what it returns and what it gives to those inside; backward the reverse, and its weights."""
        computed = [one for one in itself if one.way == "out"] + [one for one in inside if one.way == "in"]
        forward = [self._values(one, pair) for one in computed]
        given = [one for one in itself if one.way == "in"] + [one for one in inside if one.way == "out"]
        backward = [found for one in given if (found := self._gradients(one, pair)) is not None]
        if pair.number == 0:
            backward += self._weights(pair.reference, paths)
        worst = _worst(forward)
        quantiles, usual = ((), ()) if worst is None else self._quantiles(computed[forward.index(worst)])
        return Node(*pair, worst, _worst(backward), inherited, quantiles, usual)

    def _values(self, one: Same, pair: Pair) -> Figure:
        part = "what it returns" if one.pair == pair else f"what it gives to {one.pair.reference}"
        own, site = self.got.passed.values, one.candidate[0]
        if site not in own:
            return wrong(part, self.dtype, "the candidate's module was not called")
        return self._judged("outputs", part, own[site], lambda answer: answer.passed.values[one.reference[0]])

    def _gradients(self, one: Same, pair: Pair) -> Figure | None:
        def summed(answer: Own, sites: tuple[Site, ...]) -> np.ndarray:
            return np.sum([answer.passed.gradients[site] for site in sites if site in answer.passed.gradients], axis=0)

        if not any(site in self.exact.passed.gradients for site in one.reference):
            return None
        got = summed(self.got, one.candidate)
        if np.ndim(got) == 0:  # nothing depends on it
            got = np.zeros(self.fed.values[one.candidate[0]].shape)
        part = "the gradient of what it " + ("is given" if one.pair == pair else f"has from {one.pair.reference}")
        return self._judged("gradients", part, got, lambda answer: summed(answer, one.reference))

    def _weights(self, path: str, paths: list[str]) -> list[Figure]:
        """Judge the gradients of the weights that it holds itself, not in a module that is paired."""
        found = []
        for name in self.exact.weights:
            if parent_of(name, paths) == path and name in self.got.weights:
                of = partial(_weight_gradient, name)
                found.append(self._judged("gradients", f"the gradient of {name}", self.got.weights[name], of))
        return found

    def _judged(self, kind: str, part: str, got: np.ndarray, of: Any) -> Figure:
        exact = of(self.exact)
        ours, theirs, words = comparable({part: got}, {part: exact})
        if words:
            return wrong(part, self.dtype, words[part])
        own = [self._errors(kind, part, of(inexact), of(truth)) for truth, inexact in self.draws if inexact is not None]
        moved = [self._errors(kind, part, of(truth), exact) for truth, _ in self.draws[1:]]
        yardstick = Yardstick(*({part: _largest(found)} if found else {} for found in (own, moved)))
        return judged(kind, self.dtype, measured(kind, ours, theirs), yardstick)[0]

    @staticmethod
    def _errors(kind: str, part: str, got: np.ndarray, exact: np.ndarray) -> Any:
        return measured(kind, {part: got}, {part: exact})[part]

    def _quantiles(self, one: Same) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return those of the candidate's error, and of the reference's where it computes in the dtype too."""
        exact, inexact = self.draws[0]
        expected = exact.passed.values[one.reference[0]]
        usual = None if inexact is None else inexact.passed.values[one.reference[0]]
        return _spread(self.got.passed.values.get(one.candidate[0]), expected), _spread(usual, expected)


def _spread(got: np.ndarray | None, exact: np.ndarray) -> tuple[float, ...]:
    if got is None or got.shape != exact.shape or not exact.size:
        return ()
    size = float(np.sqrt(np.mean(np.square(exact)))) or 1.0
    return tuple(float(value) for value in np.quantile(np.abs(got - exact) / size, QUANTILES))


def _weight_gradient(name: str, answer: Own) -> np.ndarray:
    return answer.weights[name]


def _largest(found: list[Any]) -> Any:
    return type(found[0])(*(max(one[figure] for one in found) for figure in range(2)))


def _worst(figures: list[Figure]) -> Figure | None:
    return max(figures, key=lambda one: (not one.passed, one.share), default=None)


def _inherited(itself: list[Same], reference: Passed, candidate: Passed) -> float | None:
    for one in itself:
        if one.way == "out":
            got, exact = candidate.values[one.candidate[0]], reference.values[one.reference[0]]
            if got.shape == exact.shape:
                return float(measured("outputs", {"": got}, {"": exact})[""].norm)
    return None
