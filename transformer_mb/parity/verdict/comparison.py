"""One request asked of a backend and of the reference, and how far the answers are apart, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...registry import PLAIN_DTYPES
from ...rounding import rounded
from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Arrays, Request, under
from ..computing.native_dtypes import OUTPUTS
from ..computing.precision import before_rounding, computed_in, perturbed_copy
from ..ladder import LADDER
from .answers import check_answer
from .limits import PERTURBED_COPIES, Baseline, judge
from .measure import NONE, Errors, errors, gradient_errors, norm, worst_errors


def outputs(request: Request, got: Arrays, expected: Arrays) -> Errors:
    return worst_errors(errors(got[name], expected[name]) for name in expected if name.partition(".")[0] in OUTPUTS)


def loss(request: Request, got: Arrays, expected: Arrays) -> Errors:
    return errors(got["loss"], expected["loss"])


def gradients(request: Request, got: Arrays, expected: Arrays) -> Errors:
    """Where all gradients vanish, as those of a saturated softmax do, their size is compared with the cotangent's."""
    cotangent = norm([request.arrays["cotangent"]]) if "cotangent" in request.arrays else 0.0
    return gradient_errors(under("gradient", got), under("gradient", expected), cotangent)


def update(request: Request, got: Arrays, expected: Arrays) -> Errors:
    """The change of the weights, not the weights: a small step must not hide behind a large weight."""
    before, pair = under("weights", request.arrays), (got, expected)
    changes = [{name: value - before[name] for name, value in under("weights", answer).items()} for answer in pair]
    groups = [changes] + [[under(f"slots.{slot}", answer) for answer in pair] for slot in ("m", "v", "momentum")]
    return worst_errors(gradient_errors(*group) for group in groups if group[1])


def training(request: Request, got: Arrays, expected: Arrays) -> Errors:
    return worst_errors([errors(got["losses"], expected["losses"]), update(request, got, expected)])


# What the ladder's rows measure of an answer.
MEASURES: dict[str, Callable[[Request, Arrays, Arrays], Errors]] = {
    function.__name__: function for function in (outputs, loss, gradients, update, training)
}


@dataclass(eq=False)
class Comparison:
    """An experiment of one request.

    Args:
        rows: of the ladder, one cell each.
        make: makes the request when it is first needed; its arrays are rounded to the dtype.
        ill_conditioned: in float64 too the limits grow with what the reference itself loses.
    """

    case: str
    dtype: str
    rows: tuple[str, ...]
    make: Callable[[], Request]
    ill_conditioned: bool = False
    after = False

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(row, self.case, self.dtype) for row in self.rows]

    @cached_property
    def request(self) -> Request:
        return self.make()

    @cached_property
    def expected(self) -> Mapping[str, np.ndarray]:
        return reference.answer(self.request)

    @cached_property
    def baselines(self) -> dict[str, Baseline]:
        """By row. float64 is held to fixed limits, and needs none unless the case is ill-conditioned."""
        if self.dtype == "float64" and not self.ill_conditioned:
            return {row: Baseline() for row in self.rows}
        asked = replace(self.request, dtype=self.judged_in)
        rounding = self._errors(asked, {name: rounded(np.asarray(a), asked.dtype) for name, a in self.expected.items()})
        numpy, moved = [self._errors(asked, reference.baseline(asked))], []
        for number in range(PERTURBED_COPIES if self._copied() else 0):
            copy = perturbed_copy(asked, number)
            answer = reference.answer(copy)
            moved.append(self._errors(asked, answer))
            numpy.append(self._errors(copy, reference.baseline(copy), answer))
        baselines = {}
        for row in self.rows:
            copied = [] if _from_given_gradients(row) else moved
            draws = numpy if copied else numpy[:1]
            copies = worst_errors(each[row] for each in copied) if copied else NONE
            own = worst_errors(each[row] for each in draws)
            if self.judged_in not in PLAIN_DTYPES and LADDER[row].measured == "outputs":  # the norm is that of the case alone
                own, copies = own._replace(norm=numpy[0][row].norm), NONE
            baselines[row] = Baseline(own, rounding[row], copies)
        return baselines

    def _copied(self) -> bool:
        return not all(map(_from_given_gradients, self.rows))

    @cached_property
    def judged_in(self) -> str:
        """The dtype whose limits hold: float32 for what is never computed in less."""
        return computed_in(self.request)

    def _off(self, got: Arrays) -> dict[str, Errors]:
        """The errors of an answer; of what was computed in more than its dtype, those before its one rounding."""
        if self.judged_in != self.dtype:
            kept = ("gradient.", "weights.")
            near = {n: before_rounding(value, self.expected[n], self.dtype) for n, value in got.items() if n.startswith(kept)}
            got = {**got, **near}
        return self._errors(self.request, got)

    def _errors(self, request: Request, got: Arrays, expected: Arrays | None = None) -> dict[str, Errors]:
        expected = self.expected if expected is None else expected
        return {row: MEASURES[LADDER[row].measured](request, got, expected) for row in self.rows}

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.request)
        check_answer(got, self.expected, self.judged_in)
        off, baselines = self._off(got), self.baselines
        cells = self.cells(backend)
        return [judge(cell.row, self.judged_in, off[cell.row], baselines[cell.row]).of(cell, backend) for cell in cells]


def _from_given_gradients(row: str) -> bool:
    """There the weights of a perturbed copy would be off by more than the step that is judged."""
    return LADDER[row].measured == "update"
