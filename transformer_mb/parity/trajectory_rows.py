"""The rows of training: single steps from the oracle's states, and a run of its own beside the oracle's twins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

import numpy as np

from .bands import Bands, Curve, band, divergence
from .cells import Ask, Cell, Result
from .comparisons import LIMITS, Comparison
from .job import FREE_STEPS, SAMPLED, Recording
from .messages import Arrays, Request, named, under
from .oracle import Oracle, rounded_arrays


def step_request(recording: Recording, oracle: Oracle, dtype: str, number: int, state: Arrays) -> Request:
    """A step from a state, with the oracle's own gradients there for the update."""
    request = recording.job.step(dtype, number, rounded_arrays(dict(state), dtype))
    gradients = named("gradients", under("gradient", oracle.exact(request)))
    return Request("step", dtype, request.spec, {**request.arrays, **rounded_arrays(gradients, dtype)})


def stepwise_experiments(recording: Recording, oracle: Oracle, dtype: str) -> list[Comparison]:
    def request(number: int) -> Request:
        return step_request(recording, oracle, dtype, number, recording.state(number))

    rows = tuple(LIMITS)
    return [Comparison(f"step {number}", dtype, rows, partial(request, number), oracle) for number in SAMPLED]


class FreeRunning:
    """From the oracle's first weights by itself. ``curves`` and ``one_step_errors`` are kept by backend for the report."""

    after = False
    row = "free-running"

    def __init__(self, recording: Recording, oracle: Oracle, dtype: str):
        self.recording, self.oracle, self.dtype = recording, oracle, dtype
        self.curves: dict[str, Curve] = {}
        self.one_step_errors: dict[str, float] = {}

    def cells(self) -> list[Cell]:
        return [Cell(self.row, f"{FREE_STEPS} steps", self.dtype)]

    def _request(self, start: Mapping[str, np.ndarray]) -> Request:
        return self.recording.job.run(self.dtype, 0, FREE_STEPS, start, states_at=[1])

    @cached_property
    def exact(self) -> Arrays:
        return self.oracle.exact(self._request(self.recording.job.start))

    @cached_property
    def bands(self) -> Bands:
        return Bands(lambda start: self.oracle.exact(self._request(start))["losses"], self.recording.job.start)

    @cached_property
    def singly(self) -> np.ndarray:
        """The divergence of the NumPy float32 run."""
        request = self._request(rounded_arrays(self.recording.job.start, "float32"))
        return divergence(self.oracle.measured(request)["losses"], self.exact["losses"])

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self._request(rounded_arrays(self.recording.job.start, self.dtype)))
        error = one_step_error(got, self.exact, 1)
        self.one_step_errors[backend] = error
        yardsticks = [self.bands.twins(error)] + ([self.singly] if self.dtype == "float32" else [])
        curve = Curve(divergence(got["losses"], self.exact["losses"]), band(self.dtype, *yardsticks))
        self.curves[backend] = curve
        status, worst, limit, text = curve.judge()
        return [Result(*self.cells()[0], backend, status, text, worst, limit)]


def one_step_error(got: Arrays, exact: Arrays, step: int) -> float:
    """Of all weights together after one step: what the twins' starts are off by."""
    first, second = (under(f"state {step}.weights", result) for result in (got, exact))
    off = sum(float(np.sum(np.square(first[name].astype(np.float64) - second[name]))) for name in second)
    return float(np.sqrt(off / sum(float(np.sum(np.square(value))) for value in second.values())))
