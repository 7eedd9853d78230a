"""Where a failed candidate first differs: every module of it is fed what the reference's was, forward and backward.

One run does it for all modules: what each computes is kept, and what the reference's computed is handed on. So a module's own
error holds nothing of those before it, nor of those inside it. Its gradients are asked for in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..parity.verdict.limits import FLOOR_EPS, TIMES
from ..random_streams import stream
from ..reports.record import finite
from ..rounding import rounded
from .cases import EPS, Case
from .limits import TIMES_OWN, Figure, Yardstick, comparable, judged, measured, wrong
from .pairing import Pair, Same, paired_calls, paired_sites, parent_of
from .session import Session
from .side import Passed
from .taps import Site

COPIES = 2  # perturbed copies of what the modules are fed, which measure what they lose
SUBTLE = TIMES_OWN * FLOOR_EPS * EPS["float32"]
JUMP = 10.0  # times the error of the module before: a jump; less is growth
QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Node:
    """Two modules that stand for each other, in one call.

    Args:
        reference, candidate: their paths; the whole is empty. number: of the call.
        forward, backward: the worst figure of what it computes by itself; None where nothing could be compared.
        inherited: the error of its output in the candidate's own run; None where its output is no array of that shape.
        quantiles: of the size of its own error in units of the output's root mean square, at QUANTILES: the candidate's.
    """

    reference: str
    candidate: str
    number: int
    forward: Figure | None
    backward: Figure | None
    inherited: float | None
    quantiles: tuple[float, ...] = ()

    @property
    def failed(self) -> bool:
        return any(one is not None and not one.passed for one in (self.forward, self.backward))

    @property
    def name(self) -> str:
        name = self.reference or "the whole"
        name += f" (call {self.number + 1})" if self.number else ""
        return name if self.candidate == self.reference else f"{name} = {self.candidate or 'the whole'}"


def _is_subtle(one: Figure) -> bool:
    """Tell whether float32 somewhere inside would explain an error of float64."""
    return one.dtype == "float64" and one.error <= SUBTLE * TIMES[one.figure]


def _shown(one: Figure) -> str:
    if one.passed:
        return f"{one.error:.0e}"
    if _is_subtle(one):
        return f"{one.error:.0e}, as float32 inside would explain"
    return f"{one.error:.0e} WRONG in {one.part}" if one.error < float("inf") else f"WRONG: {one.reason}"


@dataclass(frozen=True)
class Tree:
    """The modules of a failed check, in the order in which the reference's end; what is inside a module before it."""

    dtype: str
    nodes: tuple[Node, ...]

    @property
    def first(self) -> str | None:
        """The path in the reference of the first module that is wrong by itself, forward before backward; the whole is ''."""
        node = self.first_node
        return None if node is None else node.reference

    @property
    def first_node(self) -> Node | None:
        """Return that module: of several one whose error float32 somewhere inside would not explain, if there is one."""
        forward = [(node, node.forward) for node in self.nodes]
        backward = [(node, node.backward) for node in reversed(self.nodes)]
        failed = [(node, one) for node, one in (*forward, *backward) if one is not None and not one.passed]
        plain = [node for node, one in failed if not _is_subtle(one)]
        return next(iter([*plain, *(node for node, _ in failed)]), None)

    @property
    def course(self) -> str:
        """Say whether the error jumps at a module or grows from one to the next."""
        errors = [(node, node.inherited) for node in self.nodes if node.inherited is not None and node.inherited > 0.0]
        if len(errors) < 2:
            return ""
        (_, before), (where, after) = max(pairwise(errors), key=lambda pair: pair[1][1] / pair[0][1])
        if after >= JUMP * before:
            return f"the error jumps from {before:.1e} to {after:.1e} at {where.name}"
        return f"the error grows step by step, from {errors[0][1]:.1e} to {errors[-1][1]:.1e} over {len(errors)} modules"

    def to_dict(self) -> dict[str, Any]:
        return finite(
            {"dtype": self.dtype, "first": self.first, "course": self.course, "nodes": [asdict(n) for n in self.nodes]}
        )

    def __str__(self) -> str:
        lines = [f"modules in {self.dtype}, each fed what the reference's was:"]
        first = self.first_node
        for node in self.nodes:
            indent = "  " * (node.reference.count(".") + 1 if node.reference else 0)
            judged = (("own", node.forward), ("backward", node.backward))
            own = "; ".join(f"{words} {_shown(one)}" for words, one in judged if one is not None)
            inherited = "" if node.inherited is None else f"; inherited {node.inherited:.1e}"
            lines.append(f"{'->' if node is first else '  '} {indent}{node.name}: {own}{inherited}")
        if first is None:
            lines.append("every module is right by itself")
        elif first.quantiles:
            shown = ", ".join(f"{100 * q:g} % {value:.1e}" for q, value in zip(QUANTILES, first.quantiles, strict=True))
            lines.append(f"own error of {first.name}, in units of the root mean square: {shown}")
        return "\n".join([*lines, *filter(None, [self.course])])


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
    """What modules compute by themselves, and the gradients of weights by the reference's names."""

    passed: Passed
    weights: Mapping[str, np.ndarray]


class _Fed:
    """What the candidate's modules are given in the place of what they compute, and the gradients that follow."""

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
        given = [one for one in itself if one.way == "in" and pair.reference] + [one for one in inside if one.way == "out"]
        backward = [found for one in given if (found := self._gradients(one, pair)) is not None]
        if pair.number == 0:
            backward += self._weights(pair.reference, paths)
        worst = _worst(forward)
        quantiles = () if worst is None else self._quantiles(computed[forward.index(worst)])
        return Node(*pair, worst, _worst(backward), inherited, quantiles)

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

    def _quantiles(self, one: Same) -> tuple[float, ...]:
        got, exact = self.got.passed.values.get(one.candidate[0]), self.exact.passed.values[one.reference[0]]
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
