"""One request asked of a backend and of the reference, and how far the answers are apart, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

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
from .draws import Draws
from .limits import PERTURBED_COPIES, Baseline, Judgement, judge_by_draws
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


def lived(request: Request, got: Arrays, expected: Arrays) -> Errors:
    """Of each operation's gradients together, and of all else by itself; tokens are compared in float64 alone."""
    kinds = ("losses", "logits", "weights") + (("tokens",) if request.dtype == "float64" else ())
    found = [errors(got[name], value) for name, value in expected.items() if name.partition(".")[0] in kinds]
    numbers = {name.split(".")[1] for name in expected if name.startswith("gradient.")}
    groups = [(under(f"gradient.{number}", got), under(f"gradient.{number}", expected)) for number in numbers]
    return worst_errors([*found, *(gradient_errors(*group) for group in groups)])


# What the ladder's rows measure of an answer.
MEASURES: dict[str, Callable[[Request, Arrays, Arrays], Errors]] = {
    function.__name__: function for function in (outputs, loss, gradients, update, training, lived)
}


class _Draw(NamedTuple):
    """Of the case or a perturbed copy, by row: NumPy's errors, and how far the exact result is from that of the case."""

    numpy: dict[str, Errors]
    moved: dict[str, Errors]


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

    def __post_init__(self) -> None:
        self._draws = Draws(self._draw)

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(row, self.case, self.dtype) for row in self.rows]

    @cached_property
    def request(self) -> Request:
        return self.make()

    @cached_property
    def expected(self) -> Mapping[str, np.ndarray]:
        return reference.answer(self.request)

    def baseline(self, row: str, copies: int = PERTURBED_COPIES) -> Baseline:
        """From so many perturbed copies. float64 is held to fixed limits, and needs none unless the case is ill-conditioned."""
        if self.dtype == "float64" and not self.ill_conditioned:
            return Baseline()
        draws = self._draws.with_copies(0 if _from_given_gradients(row) else copies)
        in_two_bytes = self.judged_in not in PLAIN_DTYPES
        alone = in_two_bytes and LADDER[row].measured in ("outputs", "training")
        moved = NONE if alone else worst_errors(draw.moved[row] for draw in draws)
        return Baseline(worst_errors(draw.numpy[row] for draw in draws), self._rounding[row], moved)

    @cached_property
    def _asked(self) -> Request:
        return replace(self.request, dtype=self.judged_in)

    @cached_property
    def _rounding(self) -> dict[str, Errors]:
        return self._errors(self._asked, {n: rounded(np.asarray(a), self.judged_in) for n, a in self.expected.items()})

    def _draw(self, number: int) -> _Draw:
        if number == 0:
            return _Draw(self._lost(self._asked), dict.fromkeys(self.rows, NONE))
        copy = self.perturbed(number - 1)
        answer = reference.answer(copy)
        return _Draw(self._lost(copy, answer), self._errors(self._asked, self._from_the_case(copy, answer)))

    def _from_the_case(self, copy: Request, answer: Arrays) -> dict[str, np.ndarray]:
        """What a copy computed, but the change of its weights as from those of the case: it began from others."""
        begun = {name: value - copy.arrays[name] for name, value in self._asked.arrays.items() if name.startswith("weights.")}
        return {name: value + begun[name] if name in begun else value for name, value in answer.items()}

    def perturbed(self, number: int) -> Request:
        return perturbed_copy(self._asked, number)

    def _lost(self, request: Request, expected: Arrays | None = None) -> dict[str, Errors]:
        """By NumPy in the request's dtype."""
        return self._errors(request, reference.baseline(request), expected)

    @cached_property
    def judged_in(self) -> str:
        """The dtype whose limits hold: float32 for what is never computed in less."""
        return computed_in(self.request)

    @property
    def rounds_once(self) -> bool:
        """Whether the answer was computed in more than the request's dtype."""
        return self.judged_in != self.dtype

    def _off(self, got: Arrays) -> dict[str, Errors]:
        """The errors of an answer; of what was computed in more than its dtype, those before its one rounding."""
        if self.rounds_once:
            kept = ("gradient.", "weights.")
            near = {n: before_rounding(value, self.expected[n], self.dtype) for n, value in got.items() if n.startswith(kept)}
            got = {**got, **near}
        return self._errors(self.request, got)

    def _errors(self, request: Request, got: Arrays, expected: Arrays | None = None) -> dict[str, Errors]:
        expected = self.expected if expected is None else expected
        return {row: MEASURES[LADDER[row].measured](request, got, expected) for row in self.rows}

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.request)
        check_answer(got, self.expected, self._asked.dtype)
        off = self._off(got)
        return [self._judged(cell.row, off[cell.row]).of(cell, backend) for cell in self.cells(backend)]

    def _judged(self, row: str, off: Errors) -> Judgement:
        return judge_by_draws(row, self.judged_in, off, partial(self.baseline, row))


def _from_given_gradients(row: str) -> bool:
    """There the weights of a perturbed copy would be off by more than the step that is judged."""
    return LADDER[row].measured == "update"
