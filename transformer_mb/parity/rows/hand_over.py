"""The rows of handing training over: begun in A, continued in B from A's checkpoint, beside training that stayed in A."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from ...columns.messages import Arrays
from ...errors import WorkerError
from ..cells import FAILED, Ask, Cell, Result
from ..computing.messages import Request, named, rounded_arrays, under
from ..ladder import LADDER
from ..verdict.answers import Unusable, check_answer
from ..verdict.bands import Band, divergence
from ..verdict.comparison import Comparison
from ..verdict.limits import Verdict
from .training import CONTINUED, HANDED_OVER_AT, SAMPLED_EVERY, Recording, step_request

FIRST, CONTINUES = "hand-over, first step", "hand-over, continued"
EARLIER = HANDED_OVER_AT - SAMPLED_EVERY


@dataclass(eq=False)
class HandOverStart:
    """Trains in one backend and stays there; its states on the way are what the others continue from.

    ``losses`` and ``states`` by backend and by step.
    """

    recording: Recording
    dtype: str
    losses: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)
    states: dict[str, dict[int, dict[str, np.ndarray]]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    after = False

    def cells(self, backend: str) -> list[Cell]:
        return []  # what it leaves is judged where the others continue

    def run(self, backend: str, ask: Ask) -> list[Result]:
        job = self.recording.job
        steps, stops = HANDED_OVER_AT + CONTINUED, [EARLIER, HANDED_OVER_AT]
        try:
            got = ask(job.run(self.dtype, 0, steps, rounded_arrays(job.start, self.dtype), stops))
            expected = {"losses": np.empty(steps)}
            for stop in stops:
                expected |= named(f"state {stop}", self.recording.state(stop))
            check_answer(got, expected, self.dtype)
        except (Unusable, WorkerError) as error:
            self.refused[backend] = str(error)
            return []
        self.losses[backend] = {stop: got["losses"][stop : stop + CONTINUED] for stop in stops}
        self.states[backend] = {stop: through_checkpoint(self.recording, stop, under(f"state {stop}", got)) for stop in stops}
        return []


def through_checkpoint(recording: Recording, step: int, state: Arrays) -> dict[str, np.ndarray]:
    """Save a state as a canonical checkpoint and read it again: all of it must be left."""
    optimizer = {"step": np.asarray(step, np.int64), **under("slots", state)}
    checkpoint = Checkpoint(
        config=recording.job.config,
        weights=under("weights", state),
        optimizer=optimizer,
        trainer={"step": step},
    )
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(Path(folder) / "checkpoint", checkpoint)
        checkpoint = read_checkpoint(Path(folder) / "checkpoint")
    slots = {name: value for name, value in (checkpoint.optimizer or {}).items() if name != "step"}
    return named("weights", checkpoint.weights) | named("slots", slots)


class HandOverRun:
    """Continues what another backend began; every other one in turn.

    In float32 training forks by rounding (see ``FLOAT32_RUNS``), and the one that stayed may take a branch that no perturbed
    run takes. Where the one that continues does as the reference does from that state, the two are judged again from an
    earlier state: what a checkpoint leaves out is missing there too.
    """

    after = True

    def __init__(self, start: HandOverStart, backends: list[str]):
        self.start, self.backends = start, backends
        self.recording, self.dtype = start.recording, start.dtype
        self.begun: dict[tuple[str, int], tuple[Comparison, Band]] = {}
        self.lock = threading.Lock()

    def cells(self, backend: str) -> list[Cell]:
        others = [origin for origin in self.backends if origin != backend]
        return [Cell(row, f"from {origin}", self.dtype) for origin in others for row in (FIRST, CONTINUES)]

    def run(self, backend: str, ask: Ask) -> list[Result]:
        results = []
        for cell in self.cells(backend):
            origin = cell.case.removeprefix("from ")
            if origin not in self.start.states:
                reason = f"{origin} left no state to continue from: {self.start.refused.get(origin, 'it did not run')}"
                results.append(Result(*cell, backend, FAILED, reason))
            elif cell.row == FIRST:
                results.append(self._first_step(origin, backend, ask))
            else:
                results.append(self._continued(origin, backend, ask).of(cell, backend))
        return results

    def _first_step(self, origin: str, backend: str, ask: Ask) -> Result:
        """Return, of the comparisons of one step, the one that takes most of its limit."""
        steps = self._from(origin, HANDED_OVER_AT)[0].run(backend, ask)
        last = sorted(steps, key=lambda step: (step.status == FAILED, (step.error or 0.0) / (step.limit or 1.0)))[-1]
        return replace(last, row=FIRST, reason=f"{last.row.removeprefix('stepwise ')}: {last.reason}")

    def _continued(self, origin: str, backend: str, ask: Ask) -> Verdict:
        verdict, as_the_reference = self._beside(origin, HANDED_OVER_AT, ask)
        if verdict.passed or self.dtype != "float32" or not as_the_reference:
            return verdict
        again, _ = self._beside(origin, EARLIER, ask)
        return replace(again, reason=f"{again.reason}, from step {EARLIER}; from step {HANDED_OVER_AT} {verdict.reason}")

    def _beside(self, origin: str, step: int, ask: Ask) -> tuple[Verdict, bool]:
        """Judge what continues from a step by what stayed; tell whether it does as the reference does from there."""
        got, stayed = ask(self._request(step, self.start.states[origin][step])), self.start.losses[origin][step]
        check_answer(got, {"losses": stayed}, self.dtype)
        band = self._from(origin, step)[1]
        verdict = band.around(divergence(got["losses"], stayed)).judge()
        if verdict.passed:
            return verdict, True
        return verdict, band.around(divergence(got["losses"], band.expected["losses"])).judge().passed

    def _request(self, step: int, state: Arrays) -> Request:
        return self.recording.job.run(self.dtype, step, CONTINUED, state)

    def _from(self, origin: str, step: int) -> tuple[Comparison, Band]:
        """Return what all that continue from one state have in common: the first step, and the band around what follows."""
        with self.lock:
            if (origin, step) not in self.begun:
                state = self.start.states[origin][step]
                request = partial(step_request, self.recording, self.dtype, step, state)
                first = Comparison(f"from {origin}", self.dtype, LADDER[FIRST].made_of, request)
                self.begun[origin, step] = (first, Band(self.dtype, state, partial(self._request, step)))
            return self.begun[origin, step]


def hand_over_experiments(recording: Recording, dtype: str, backends: list[str]) -> list[HandOverStart | HandOverRun]:
    start = HandOverStart(recording, dtype)
    return [start, HandOverRun(start, backends)] if dtype in LADDER[FIRST].dtypes else []
