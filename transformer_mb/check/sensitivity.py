"""Mistakes planted into the user's own comparison: what nothing notices makes the comparison blind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ..random_streams import stream
from .cases import Case
from .inputs import Input
from .judging import Judge, parts
from .limits import comparable, judged, measured
from .report import Plant
from .session import Plan, Session
from .side import Answer

OFF = 0.25  # of a weight's spread, by which one number of it is changed
LARGER = 3  # what a size of one becomes where a mistake might matter that does not here


class Mistake(NamedTuple):
    """A change of a case that a layer of this kind ought to feel; None where a case has nothing to change."""

    what: str
    plant: Callable[[Case], Case | None]


def mistakes(session: Session, case: Case) -> Iterator[Mistake]:
    """Yield what is planted: into each weight, each pair of like ones, each input."""
    weights = [name for name in case.weights if name in session.map.pairs]
    for name in weights:
        shape = case.weights[name].shape
        for part, places in _parts(session, name):
            yield Mistake(f"one number of {part}", partial(_with_weight, name=name, change=partial(_one_off, places=places)))
        if len(shape) == 2 and shape[0] == shape[1] > 1:
            yield Mistake(f"{name} transposed", partial(_with_weight, name=name, change=np.transpose))
    for one, other in _alike(session, case, weights):
        yield Mistake(f"{one} and {other} swapped", partial(_swapped, one=one, other=other))
    for name, value in case.inputs.items():
        if value.dtype.kind == "b":
            yield Mistake(f"{name} shifted by one", partial(_with_input, name=name, change=_shifted))
        elif value.dtype.kind in "iu":
            yield Mistake(f"{name} off by one", partial(_with_input, name=name, change=_less))
        else:
            yield Mistake(f"one number of {name}", partial(_with_input, name=name, change=_one_off))
            yield Mistake(f"{name} turned round along its last axis", partial(_with_input, name=name, change=_turned))


def _parts(session: Session, name: str) -> Iterator[tuple[str, np.ndarray | None]]:
    """Yield a weight in words and the places of its numbers; one that is packed part by part, as the candidate has it."""
    partners = sorted(session.map.partners(name))
    if len(partners) == 1:
        yield name, None
    else:
        for partner in partners:
            yield f"{name} ({partner})", session.map.places(name, partner)


def _alike(session: Session, case: Case, weights: list[str]) -> Iterator[tuple[str, str]]:
    """Pair each weight with the next one of its shape whose name ends alike or beside it."""
    for number, one in enumerate(weights):
        other = next((name for name in weights[number + 1 :] if case.weights[name].shape == case.weights[one].shape), None)
        if other is not None:
            yield one, other


def _with_weight(case: Case, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Case | None:
    return _unless_same(case, replace(case, weights={**case.weights, name: change(case.weights[name])}))


def _with_input(case: Case, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Case | None:
    return _unless_same(case, replace(case, inputs={**case.inputs, name: change(case.inputs[name])}))


def _swapped(case: Case, one: str, other: str) -> Case | None:
    swapped = {one: case.weights[other], other: case.weights[one]}
    return _unless_same(case, replace(case, weights={**case.weights, **swapped}))


def _unless_same(case: Case, planted: Case) -> Case | None:
    pairs = zip(
        (*case.weights.values(), *case.inputs.values()), (*planted.weights.values(), *planted.inputs.values()), strict=True
    )
    return None if all(np.array_equal(one, other) for one, other in pairs) else planted


def _one_off(array: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    places = np.arange(array.size) if places is None else places
    if not places.size:
        return array
    off = np.array(array, np.float64)
    off.flat[stream("one", array.shape).choice(places)] += OFF * (float(array.std()) or 1.0)
    return off


def _shifted(array: np.ndarray) -> np.ndarray:
    return np.roll(array, 1, axis=-1)


def _less(array: np.ndarray) -> np.ndarray:
    return np.maximum(array - 1, 0)


def _turned(array: np.ndarray) -> np.ndarray:
    return array[..., ::-1] if array.ndim else array


def planted(session: Session, cases: Sequence[Case]) -> list[Plant]:
    """Plant each mistake into what the candidate gets, and ask whether the comparison notices it, in one case at least."""
    order = [mistake.what for mistake in mistakes(session, cases[0])]
    found: dict[str, str] = {}
    for case in cases:
        here = _Noticing(session, case)
        unseen = [mistake for mistake in mistakes(session, case) if mistake.what not in found]
        found |= {mistake.what: "caught" for mistake in unseen if here.caught(mistake)}
        if len(found) == len(order):
            break
    else:
        there = _Noticing(session, _generic(session, cases[0]))
        unseen = [mistake for mistake in mistakes(session, there.case) if mistake.what not in found]
        found |= {mistake.what: "blind" if there.felt(mistake) else "no effect" for mistake in unseen}
    return [Plant(what, found[what]) for what in order]


def _generic(session: Session, case: Case) -> Case:
    """Return a case in which what can matter does: random weights and inputs, no size of one, nothing given by the user."""
    inputs = {}
    for name, value in session.plan.inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value = Input("floats", value.shape, {"scale": 1.0, "mean": 0.0})
        if isinstance(value, Input) and value.kind == "floats":
            value = replace(value, options={"scale": 1.0, "mean": 0.0})
        inputs[name] = value
    fixed = any(isinstance(value, np.ndarray) for value in session.plan.inputs.values())
    sizes = {letter: LARGER if size == 1 and not fixed else size for letter, size in session.plan.sizes.items()}
    return session.draw(case.seed + 1_000, Plan(session.plan.weights, inputs, sizes, session.plan.gradients, "drawn"))


class _Noticing:
    """A case computed right, with which the answers to planted cases are compared.

    A planted change counts by what it moves: an error that a side has without it is no effect of it.
    """

    def __init__(self, session: Session, case: Case):
        self.session, self.case = session, case
        self.dtype = session.dtypes[0]  # float64 where it is compared, in which nearly everything shows
        self.by = Judge(session, case)

    @cached_property
    def candidate(self) -> Answer:
        return self.session.by_candidate(self.case, self.dtype)

    @cached_property
    def reference(self) -> Answer:
        return self.session.by_reference(self.case, self.dtype)

    def caught(self, mistake: Mistake) -> bool:
        """Tell whether the candidate's answer to the planted case fails the verdict on the case."""
        planted = mistake.plant(self.case)
        return planted is not None and self._moved(self.candidate, self.session.by_candidate(planted, self.dtype))

    def felt(self, mistake: Mistake) -> bool:
        """Tell whether the reference itself answers otherwise."""
        planted = mistake.plant(self.case)
        return planted is not None and self._moved(self.reference, self.session.by_reference(planted, self.dtype))

    def steady(self) -> bool:
        """Tell whether a last place of every number, which cannot matter, passes for the same."""
        return not self._moved(self.candidate, self.session.by_candidate(self.case.copy(self.dtype, 0), self.dtype))

    def _moved(self, before: Answer, after: Answer) -> bool:
        """Tell whether an answer that is right but for what has moved would fail."""
        rule = self.session.rules.get(self.dtype, self.dtype)
        earlier, got = parts(before), parts(after)
        for kind, exact in self.by.exact.items():
            ours, theirs, words = comparable(got[kind], earlier[kind])
            finite = {name: np.where(np.isfinite(exact[name]), exact[name], 0.0) for name in ours}
            moved = {name: value + (ours[name] - theirs[name]) for name, value in finite.items()}
            figures = judged(kind, rule, measured(kind, moved, finite), self.by.yardstick(kind, rule))
            if words or not all(one.passed for one in figures):
                return True
        return False


def steady(session: Session, case: Case) -> bool:
    """Tell whether the check calls changes equal that cannot matter."""
    return _Noticing(session, case).steady()
