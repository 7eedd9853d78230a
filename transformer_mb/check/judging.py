"""The verdict on a case: every output and gradient of the candidate against the reference's, by the reference's own error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..parity.computing.messages import EPS
from ..parity.verdict.limits import JUDGED_AGAIN, MORE_COPIES, PERTURBED_COPIES, TIMES, ByArray, Errors, worst_by_array
from ..rounding import rounded
from .bisection import bisect
from .cases import Case
from .dropping import differing
from .eight_bits import INT8
from .limits import FLOAT32_INSIDE, Arrays, Figure, Yardstick, comparable, judged, measured, wrong
from .session import Session
from .side import Answer

KINDS = ("outputs", "gradients")
FINITE = float(np.finfo(np.float64).max)


def parts(answer: Answer) -> dict[str, dict[str, np.ndarray]]:
    """Return an answer's arrays by kind and by the words that name them."""
    outputs = {"output" if path == "output" else f"output {path}": value for path, value in answer.outputs.items()}
    gradients = {f"gradient of {name}": value for name, value in answer.input_gradients.items()}
    gradients |= {f"gradient of {name}": value for name, value in answer.weight_gradients.items()}
    return {"outputs": outputs, "gradients": gradients}


class _Draw(NamedTuple):
    """The reference's own loss in a case or a copy, and how far the copy's exact result is from the case's, by kind."""

    own: dict[str, ByArray]
    moved: dict[str, ByArray]


class Judge:
    """The reference's answers to one case, by which any number of the candidate's answers can be judged."""

    def __init__(self, session: Session, case: Case, draw: int = 0):
        self.session, self.case, self.number = session, case, draw
        self.dtypes = [dtype for dtype in session.dtypes if session.reference.offers(dtype)]
        self._answers: dict[str, Answer] = {}
        self._draws: dict[str, list[_Draw]] = {}
        self.exact = parts(self.reference(session.truth))

    def reference(self, dtype: str) -> Answer:
        if dtype not in self._answers:
            self._answers[dtype] = self.session.by_reference(self.case, dtype)
        return self._answers[dtype]

    def yardstick(self, kind: str, dtype: str, copies: int = PERTURBED_COPIES) -> Yardstick:
        """Measure the reference on the case and its first copies."""
        draws = self._draws.setdefault(dtype, [])
        while len(draws) <= copies:
            draws.append(self._measured(dtype, len(draws)))
        own = [draw.own[kind] for draw in draws[: copies + 1] if draw.own]
        moved: ByArray = worst_by_array([draw.moved[kind] for draw in draws[1 : copies + 1]])
        if dtype == "float64" and "float32" in self.dtypes:
            moved = _less(moved, self.yardstick(kind, "float32").moved)
        return Yardstick(worst_by_array(own) if own else {}, moved, self._rounding(kind, dtype))

    def _rounding(self, kind: str, dtype: str) -> ByArray:
        if dtype == self.session.truth:
            return {}
        return _errors(kind, {name: rounded(value, dtype) for name, value in self.exact[kind].items()}, self.exact[kind])

    def _measured(self, dtype: str, number: int) -> _Draw:
        case = self.case if number == 0 else self.case.copy(dtype, number)
        exact = self.exact if number == 0 else parts(self.session.by_reference(case, self.session.truth))
        moved = {kind: _errors(kind, exact[kind], self.exact[kind]) for kind in KINDS} if number else {}
        if dtype == self.session.truth:
            return _Draw({}, moved)
        answer = self.reference(dtype) if number == 0 else self.session.by_reference(case, dtype)
        return _Draw({kind: _errors(kind, parts(answer)[kind], exact[kind]) for kind in KINDS}, moved)

    def judge(self, answer: Answer, dtype: str, rule: str | None = None) -> list[Figure]:
        """Judge the candidate's answer in a dtype; what is little over its limit is judged again by more copies.

        Args:
            rule: the dtype whose limits hold; default: the run's own.
        """
        found = [*self._formats(answer, dtype)]
        got = parts(answer)
        for kind in KINDS[:1] if dtype == INT8 else KINDS:
            ours, theirs, words = comparable(got[kind], self.exact[kind])
            found += [wrong(part, dtype, said) for part, said in words.items()]
            off = measured(kind, ours, theirs)
            figures = judged(kind, dtype, off, self.yardstick(kind, rule or dtype), self.number, rule)
            # A kink's gradient jumps by any amount, and its outputs do not: whether one is near is what more copies tell.
            kinked = kind == "gradients" and (rule or dtype) != "float64" and all(one.passed for one in found)
            most = FINITE if kinked else JUDGED_AGAIN
            again = {one.part: off[one.part] for one in figures if not one.passed and one.share <= most}
            if again:
                later = judged(kind, dtype, again, self.yardstick(kind, rule or dtype, MORE_COPIES), self.number, rule)
                figures = [*(one for one in figures if one.part not in again), *later]
            found += figures
        return found

    def _formats(self, answer: Answer, dtype: str) -> Iterable[Figure]:
        expected = self.reference(dtype).dtypes if self.session.reference.offers(dtype) else {}
        for path, name in answer.dtypes.items():
            if path in expected and _kind(expected[path]) != _kind(name):
                yield wrong(f"output {path}", dtype, f"its dtype must be {expected[path]}, as the reference's, got {name}")
        if self.session.reference.offers(dtype) and (words := differing(self.reference(dtype).dropped, answer.dropped)):
            yield wrong("dropout", dtype, words)
        if not answer.outputs and not self.exact["outputs"]:
            yield wrong("output", dtype, "neither side returns an array of its framework: there is nothing to compare")
        for name in answer.changed:
            yield wrong(f"input {name}", dtype, "the candidate has written into it")
        moves = self.session.reference.offers(dtype) and self.reference(dtype).moved  # as running means, in training
        for name in answer.moved if not moves else ():
            yield wrong(f"weight {name}", dtype, "the candidate has changed it by computing")
        for path in answer.overwritten:
            yield wrong(f"output {path}", dtype, "the candidate has written over what it returned before")


def _less(moved: ByArray, in_float32: ByArray) -> ByArray:
    """Return how far float64 moves, and no more than float32 does in its own places.

    Something inside that computes in float32 answers to a last place of float64 by steps, which say nothing of the inputs.
    """
    times = EPS["float64"] / EPS["float32"]
    return {
        name: Errors(*(min(one, times * other) for one, other in zip(moved[name], in_float32[name], strict=True)))
        for name in moved
    }


def _kind(dtype: str) -> str:
    """Return what must be equal: floats to the bit, of whole numbers and booleans what they are."""
    return dtype if "float" in dtype else dtype.strip("0123456789_")


def _errors(kind: str, got: Arrays, exact: Arrays) -> ByArray:
    ours, theirs, _ = comparable(got, exact)
    return measured(kind, ours, theirs)


def judge(session: Session, case: Case, draw: int = 0) -> list[Figure]:
    """Compute a case by both sides in all precisions, and judge it.

    Args:
        case: of ``session.draw``. draw: its number, which the figures keep.
    Returns: for each array and dtype the figure, by norm or by the worst number, that takes most of its limit.
    Raises: WorkerError where a subject raises an error or ends.
    """
    answers = session.pool.submit(lambda: [session.by_candidate(case, dtype) for dtype in session.dtypes])
    by = Judge(session, case, draw)
    for dtype in session.dtypes:
        by.yardstick("outputs", dtype)
    found: list[Figure] = []
    for dtype, answer in zip(session.dtypes, answers.result(), strict=True):
        figures = by.judge(answer, dtype)
        if dtype == "float64" and _may_hold_float32(figures) and _holds_float32_alone(session, case):
            as_float32 = {one.part: one for one in by.judge(answer, dtype, "float32")}
            figures = [one if one.passed else as_float32[one.part] for one in figures]
        found += figures
    return found


def _may_hold_float32(figures: Iterable[Figure]) -> bool:
    failed = [one for one in figures if not one.passed]
    return bool(failed) and all(one.error <= FLOAT32_INSIDE * TIMES[one.figure] for one in failed)


def _holds_float32_alone(session: Session, case: Case) -> bool:
    """Tell whether some modules compute in float32, and are right for that, while all others keep the limits of float64.

    What the first hand on to the others is off, and theirs to inherit; the whole is then held to float32's limits.
    """
    tree = bisect(session, case, "float64")
    if tree.first is not None or not tree.single:
        return False
    session.rules["float64"] = "float32"
    session.single |= dict.fromkeys(tree.single)
    return True
