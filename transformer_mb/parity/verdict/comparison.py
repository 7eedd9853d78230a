"""A request asked of a backend and of the reference, and how far the answers are apart, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...columns.messages import Arrays
from ...errors import ParityError
from ...rounding import last_place, rounded
from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Request, before_rounding, computed_in, perturbed_copy
from ..computing.reference import Unit, answer_with, crossed, near_kinks, nearer_sides
from ..computing.thresholds import TINY
from ..ladder import LADDER
from .answers import check_answer
from .limits import (
    NONE,
    PERTURBED_COPIES,
    Baseline,
    ByArray,
    Draws,
    Verdict,
    judge,
    judge_by_draws,
    lifts_the_cap,
    meets_the_cap,
    worst_by_array,
    worst_errors,
)
from .measures import MEASURES
from .spread import Spread, quantiles, spread

THROUGH_SLOPES = ("gradients", "training", "lived")  # what jumps where a ReLU's input crosses zero
ATTEMPTS = 100  # draws of a case
PLAIN = 3.0  # times its limit, what a mistake must come to that a case is drawn for


class _Draw(NamedTuple):
    """The case or a perturbed copy, by row: NumPy's errors, and how far the exact result is from that of the case."""

    numpy: dict[str, ByArray]
    moved: dict[str, ByArray]


@dataclass(eq=False)
class Comparison:
    """An experiment of one request.

    Args:
        rows: of the ladder, one cell each.
        make: makes the request when it is first needed; its arrays are rounded to the dtype.
        ill_conditioned: in float64 too the limits grow with what the reference itself loses.
        redrawn: ``make`` takes the number of an attempt, and the first request is taken that the dtype can say something of:
            the cap of its limits is unused, and the mistake in ``shows`` is plain.
        shows: by row a mistake in a request.
        one_rounding: all that may be lost is what rounding the exact result loses, whatever NumPy does that rounds each step.
    """

    case: str
    dtype: str
    rows: tuple[str, ...]
    make: Callable[..., Request]
    ill_conditioned: bool = False
    redrawn: bool = False
    shows: Mapping[str, Callable[[Request], Request]] = field(default_factory=dict)
    one_rounding: bool = False
    after = False

    def __post_init__(self) -> None:
        self._draws = Draws(self._draw)
        self._drawn_at_random = Draws(self._draw_at_random)
        self._lock = Lock()
        self._told: Comparison | None = None
        self._own_quantiles: dict[str, list[float]] = {}  # by row: how NumPy's own errors in the dtype are spread

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(row, self.case, self.dtype) for row in self.rows]

    def tiny(self) -> Comparison:
        """Return the same with tiny thresholds of each backend."""
        return replace(self, case=f"{self.case}, {TINY}", make=lambda *attempt: self.make(*attempt).in_setting(TINY))

    @cached_property
    def request(self) -> Request:
        return self._telling.request if self.redrawn else self.make()

    @cached_property
    def expected(self) -> Mapping[str, np.ndarray]:
        return self._telling.expected if self.redrawn else reference.answer(self.request)

    @property
    def _telling(self) -> Comparison:
        """The first draw that says something: columns that ask at the same time wait for it."""
        with self._lock:
            if self._told is None:
                attempts = (replace(self, make=partial(self.make, number), redrawn=False) for number in range(ATTEMPTS))
                self._told = next((one for one in attempts if one.tells()), None)
            if self._told is None:
                raise ParityError(
                    f"{self.case} [{self.dtype}]: one of {ATTEMPTS} draws must say something, got none that does."
                )
            return self._told

    def tells(self) -> bool:
        """Tell whether the limits leave their cap unused, and each mistake in ``shows`` exceeds them by far."""
        if any(meets_the_cap(row, self.judged_in, self.baseline(row)) for row in self.rows):
            return False
        for row, mistake in self.shows.items():
            wrong = self._errors(self.request, reference.answer(mistake(self.request)))
            if not self.judged_by_few_draws(row, wrong[row]).share >= PLAIN:
                return False
        return True

    def judging(self, backend: str) -> Comparison:
        """The comparison that a column is judged by."""
        return self

    def judged_by_few_draws(self, row: str, off: ByArray) -> Verdict:
        """Judge by the draws that every cell has, whatever more would say."""
        return judge(row, self.judged_in, worst_errors(off.values()), self.baseline(row), off)

    def worst_draw(self, row: str) -> ByArray:
        """Return what NumPy loses in the draw in which it loses most by norm."""
        draws = [draw.numpy[row] for draw in self._draws.with_copies(PERTURBED_COPIES)]
        return sorted(draws, key=lambda draw: worst_errors(draw.values()).norm)[-1]

    def baseline(self, row: str, copies: int = PERTURBED_COPIES) -> Baseline:
        """Measure ``copies`` perturbed copies. float64 has fixed limits, and needs none unless the case is ill-conditioned."""
        if self.dtype == "float64" and not self.ill_conditioned:
            return Baseline()
        in_few_bits, judged_again = self.judged_in not in PLAIN_DTYPES, copies > PERTURBED_COPIES
        again = self._drawn_at_random.with_copies(copies) if judged_again and self._may_round_at_random else []
        if judged_again and in_few_bits and not self._may_round_at_random:
            copies *= 2  # as many draws as others have
        draws = self._draws.with_copies(0 if _from_given_gradients(row) else copies)
        moved = [] if in_few_bits else [each for draw in draws for each in draw.moved[row].values()]
        in_turn = [self._in_turn] if again and self.judged_in == "float32" else []
        lost = [*(draw.numpy[row] for draw in draws), *(draw[row] for draw in [*again, *in_turn])]
        numpy = worst_by_array([self._rounding[row]] if self.one_rounding else lost)
        return Baseline(
            worst_errors(numpy.values()),
            worst_errors(self._rounding[row].values()),
            worst_errors(moved) if moved else NONE,
            numpy if in_few_bits else {},
        )

    @cached_property
    def _asked(self) -> Request:
        return replace(self.request, dtype=self.judged_in)

    @cached_property
    def _rounding(self) -> dict[str, ByArray]:
        """Measure what one rounding may do: in float32 the exact result is off by half of its last place, else rounded."""
        exact = {name: np.asarray(value) for name, value in self.expected.items()}
        if self.judged_in != "float32":
            return self._errors(self._asked, {name: rounded(value, self.judged_in) for name, value in exact.items()})
        floats = {name: value + last_place(value, "float32") / 2.0 for name, value in exact.items() if value.dtype.kind == "f"}
        return self._errors(self._asked, {**exact, **floats})

    def _draw(self, number: int) -> _Draw:
        if self.redrawn:
            return self._telling._draws.with_copies(number)[number]
        if number == 0:
            answer = reference.baseline(self._asked)
            own = {row: quantiles(LADDER[row].measured, answer, self.expected) for row in self.rows}
            self._own_quantiles = {row: found for row, found in own.items() if found}
            return _Draw(self._errors(self._asked, answer), {row: {} for row in self.rows})
        copy = self.perturbed(number - 1)
        answer = reference.answer(copy)
        if self.judged_in not in PLAIN_DTYPES:  # there no backend may be off by what a last place moves
            return _Draw(self._lost(copy, answer), {})
        return _Draw(self._lost(copy, answer), self._moved(copy, answer))

    @property
    def _may_round_at_random(self) -> bool:
        """Tell whether each operation is computed in the format that is judged, and not products alone."""
        return self.judged_in != "float64" and self.judged_in in (self.dtype, "float32")

    def _draw_at_random(self, number: int) -> dict[str, ByArray]:
        """Measure what NumPy loses in the case where its results are rounded at random, whatever copies of it round alike."""
        return self._errors(self._asked, reference.baseline_at_random(self._asked, number))

    @cached_property
    def _in_turn(self) -> dict[str, ByArray]:
        """Measure what NumPy loses in float32 where sums are of one term after another, as some kernels have them."""
        return self._errors(self._asked, reference.baseline_in_turn(self._asked))

    def _moved(self, copy: Request, answer: Arrays) -> dict[str, ByArray]:
        """Measure how far a copy's exact result is from the case's: where a ReLU's input crossed zero, on its side."""
        got = self._from_the_case(copy, answer)
        moved = self._errors(self._asked, got)
        jumps = self._may_jump(row for row in self.rows if lifts_the_cap(row, worst_errors(moved[row].values())))
        if jumps and (units := crossed(self._asked, copy)):
            on_its_side = self._errors(self._asked, got, answer_with(self._asked, units))
            moved |= {row: on_its_side[row] for row in jumps}
        return moved

    def _may_jump(self, rows: Iterable[str]) -> list[str]:
        return [row for row in rows if self.judged_in == "float32" and LADDER[row].measured in THROUGH_SLOPES]

    def _from_the_case(self, copy: Request, answer: Arrays) -> dict[str, np.ndarray]:
        """Return what a copy computed, but the change of its weights as from those of the case: it began from others."""
        begun = {name: value - copy.arrays[name] for name, value in self._asked.arrays.items() if name.startswith("weights.")}
        return {name: value + begun[name] if name in begun else value for name, value in answer.items()}

    def perturbed(self, number: int) -> Request:
        return perturbed_copy(self._asked, number)

    def _lost(self, request: Request, expected: Arrays | None = None) -> dict[str, ByArray]:
        """Measure what NumPy loses in the request's dtype."""
        return self._errors(request, reference.baseline(request), expected)

    @cached_property
    def judged_in(self) -> str:
        """The dtype whose limits hold: float32 for what is never computed in less."""
        return computed_in(self.request)

    @property
    def rounds_once(self) -> bool:
        """Tell whether the answer was computed in more than the request's dtype."""
        return self.judged_in != self.dtype

    def errors_of(self, got: Arrays) -> dict[str, ByArray]:
        """The errors of an answer; of what was computed in more than its dtype, those before its one rounding."""
        if self.rounds_once:
            kept = ("gradient.", "weights.")
            near = {n: before_rounding(value, self.expected[n], self.dtype) for n, value in got.items() if n.startswith(kept)}
            got = {**got, **near}
        return self._errors(self.request, got)

    def _errors(self, request: Request, got: Arrays, expected: Arrays | None = None) -> dict[str, ByArray]:
        expected = self.expected if expected is None else expected
        return {row: MEASURES[LADDER[row].measured](request, got, expected) for row in self.rows}

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.request)
        check_answer(got, self.expected, self._asked.dtype)
        off = self.errors_of(got)
        found = [self._on_either_side(cell.row, off[cell.row], got).of(cell, backend) for cell in self.cells(backend)]
        return [replace(result, **self._spread(result.row, got)._asdict()) for result in found]

    def _spread(self, row: str, got: Arrays) -> Spread:
        """Say where the errors of an answer are; beside them NumPy's own, as far as its limits were made of them."""
        told = self._telling if self.redrawn else self
        return spread(LADDER[row].measured, got, self.expected, told._own_quantiles.get(row))

    def _on_either_side(self, row: str, off: ByArray, got: Arrays) -> Verdict:
        """Judge what fails in float32 again by the exact result on its side of ReLUs' kinks; limits stay as they are.

        An input that is within rounding of zero counts as on the other side where that brings the exact result nearer.
        """
        verdict = self._judged(row, off)
        if verdict.passed or not self._may_jump([row]) or not np.isfinite(verdict.error):
            return verdict

        def errors(expected: Arrays) -> ByArray:
            return self._errors(self.request, got, expected)[row]

        flipped, off = nearer_sides(self.request, self._near_kinks, off, errors, lambda each: worst_errors(each.values()).norm)
        return self._judged(row, off).at_kinks(len(flipped)) if flipped else verdict

    @cached_property
    def _near_kinks(self) -> list[Unit]:
        return near_kinks(self.request)

    def _judged(self, row: str, off: ByArray) -> Verdict:
        return judge_by_draws(row, self.judged_in, worst_errors(off.values()), partial(self.baseline, row), off)


def _from_given_gradients(row: str) -> bool:
    """Tell whether the row is an update: the weights of a perturbed copy would be off by more than the step that is judged."""
    return LADDER[row].measured == "update"
