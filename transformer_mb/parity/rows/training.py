"""The rows of training: single steps from the reference's states, and a run of its own inside the reference's band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Arrays, Request, named, rounded_arrays, under
from ..ladder import LADDER, rows_of
from ..verdict.answers import check_answer
from ..verdict.bands import Band, Curve, divergence
from ..verdict.comparison import Comparison
from ..verdict.limits import NONE, Baseline, Errors, Verdict, errors, judge
from .training_job import FREE_STEPS, SAMPLED, SAMPLED_EVERY, Recording


def step_request(recording: Recording, dtype: str, number: int, state: Arrays) -> Request:
    """A step from a state, with the reference's own gradients there for the update."""
    request = recording.job.step(dtype, number, rounded_arrays(dict(state), dtype))
    gradients = named("gradients", under("gradient", reference.answer(request)))
    return Request("step", dtype, request.spec, {**request.arrays, **rounded_arrays(gradients, dtype)})


def stepwise_experiments(recording: Recording, dtype: str) -> list[Comparison]:
    def request(number: int) -> Request:
        return step_request(recording, dtype, number, recording.state(number))

    rows = rows_of("step", dtype)
    return [Comparison(f"step {number}", dtype, rows, partial(request, number)) for number in SAMPLED if rows]


class FreeRunning:
    """A training from the reference's state by itself. ``curves`` are kept by backend for the report."""

    after = False
    row = "free-running"

    def __init__(self, recording: Recording, dtype: str, first: int = 0, steps: int = FREE_STEPS):
        self.recording, self.dtype = recording, dtype
        self.first, self.steps = first, steps
        self.curves: dict[str, Curve] = {}

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, f"{self.steps} steps" + (f" from step {self.first}" if self.first else ""), self.dtype)]

    @cached_property
    def start(self) -> Arrays:
        return rounded_arrays(self.recording.state(self.first), self.dtype)

    def _request(self, start: Mapping[str, np.ndarray]) -> Request:
        return self.recording.job.run(self.dtype, self.first, self.steps, start, states_at=[self.first + 1])

    @cached_property
    def band(self) -> Band:
        return Band(self.dtype, self.start, self._request, self._expected)

    def _expected(self) -> Arrays:
        """Return what was recorded, where that began from the same numbers: in float32 before the first step alone."""
        recorded = self.recording.state(self.first)
        if all(np.array_equal(recorded[name], value) for name, value in self.start.items()):
            return self.recording.run(self.first, self.steps)
        return reference.answer(self._request(self.start))

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got, cell = ask(self._request(self.start)), self.cells(backend)[0]
        check_answer(got, self.band.expected, self.dtype)
        off = one_step_error(got, self.band.expected, self.first + 1)
        verdict = self._first_step(off)
        if not verdict.passed:
            return [replace(verdict, reason=f"its first step is off by {verdict.reason}").of(cell, backend)]
        curve = self.band.around(divergence(got["losses"], self.band.expected["losses"]))
        self.curves[backend] = curve
        return [curve.judge().of(cell, backend)]

    def _first_step(self, off: Errors) -> Verdict:
        single = NONE
        if self.dtype == "float32":
            single = one_step_error(self.band.baseline, self.band.expected, self.first + 1)
        return judge(self.row, self.dtype, off, Baseline(numpy=single, copies=single))


def later_runs(recording: Recording, dtype: str) -> list[FreeRunning]:
    """Return, in float32, runs of ten steps from the reference's later states.

    A band of 120 steps widens as rounding grows: a learning rate 1 % too large from step 20 on stays within it. In float64 it
    is too narrow for that until training is chaos.
    """
    firsts = range(SAMPLED_EVERY, FREE_STEPS, SAMPLED_EVERY) if dtype == "float32" else ()
    return [FreeRunning(recording, dtype, first, SAMPLED_EVERY) for first in firsts]


def free_experiments(recording: Recording, dtype: str) -> list[FreeRunning]:
    """Return the run from the first step on, and the later ones."""
    whole = [FreeRunning(recording, dtype)] if dtype in LADDER[FreeRunning.row].dtypes else []
    return [*whole, *later_runs(recording, dtype)]


def one_step_error(got: Arrays, expected: Arrays, step: int) -> Errors:
    """Measure all weights together after one step."""
    answers = [under(f"state {step}.weights", answer) for answer in (got, expected)]
    first, second = (np.concatenate([weights[name].ravel() for name in answers[1]]) for weights in answers)
    return errors(first, second, floor=0.0)
