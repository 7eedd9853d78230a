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
from .training import CONTINUED, HANDED_OVER_AT, Recording, step_request

FIRST, CONTINUES = "hand-over, first step", "hand-over, continued"


@dataclass(eq=False)
class HandOverStart:
    """Trains in one backend and stays there; its state on the way is what the others continue from."""

    recording: Recording
    dtype: str
    losses: dict[str, np.ndarray] = field(default_factory=dict)
    states: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    after = False

    def cells(self, backend: str) -> list[Cell]:
        return []  # what it leaves is judged where the others continue

    def run(self, backend: str, ask: Ask) -> list[Result]:
        job = self.recording.job
        steps = HANDED_OVER_AT + CONTINUED
        try:
            got = ask(job.run(self.dtype, 0, steps, rounded_arrays(job.start, self.dtype), [HANDED_OVER_AT]))
            expected = named(f"state {HANDED_OVER_AT}", self.recording.state(HANDED_OVER_AT))
            check_answer(got, {"losses": np.empty(steps), **expected}, self.dtype)
        except (Unusable, WorkerError) as error:
            self.refused[backend] = str(error)
            return []
        self.losses[backend] = got["losses"][HANDED_OVER_AT:]
        self.states[backend] = through_checkpoint(self.recording, under(f"state {HANDED_OVER_AT}", got))
        return []


def through_checkpoint(recording: Recording, state: Arrays) -> dict[str, np.ndarray]:
    """Save a state as a canonical checkpoint and read it again: all of it must be left."""
    optimizer = {"step": np.asarray(HANDED_OVER_AT, np.int64), **under("slots", state)}
    checkpoint = Checkpoint(
        config=recording.job.config,
        weights=under("weights", state),
        optimizer=optimizer,
        trainer={"step": HANDED_OVER_AT},
    )
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(Path(folder) / "checkpoint", checkpoint)
        checkpoint = read_checkpoint(Path(folder) / "checkpoint")
    slots = {name: value for name, value in (checkpoint.optimizer or {}).items() if name != "step"}
    return named("weights", checkpoint.weights) | named("slots", slots)


class HandOverRun:
    """Continues what another backend began; every other one in turn."""

    after = True

    def __init__(self, start: HandOverStart, backends: list[str]):
        self.start, self.backends = start, backends
        self.recording, self.dtype = start.recording, start.dtype
        self.begun: dict[str, tuple[Comparison, Band]] = {}
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
        steps = self._from(origin)[0].run(backend, ask)
        last = sorted(steps, key=lambda step: (step.status == FAILED, (step.error or 0.0) / (step.limit or 1.0)))[-1]
        return replace(last, row=FIRST, reason=f"{last.row.removeprefix('stepwise ')}: {last.reason}")

    def _continued(self, origin: str, backend: str, ask: Ask) -> Verdict:
        got, stayed = ask(self._request(self.start.states[origin])), self.start.losses[origin]
        check_answer(got, {"losses": stayed}, self.dtype)
        return self._from(origin)[1].around(divergence(got["losses"], stayed)).judge()

    def _request(self, state: Arrays) -> Request:
        return self.recording.job.run(self.dtype, HANDED_OVER_AT, CONTINUED, state)

    def _from(self, origin: str) -> tuple[Comparison, Band]:
        """Return what all that continue from one backend have in common: the first step, and the band around what follows."""
        with self.lock:
            if origin not in self.begun:
                state = self.start.states[origin]
                request = partial(step_request, self.recording, self.dtype, HANDED_OVER_AT, state)
                first = Comparison(f"from {origin}", self.dtype, LADDER[FIRST].made_of, request)
                self.begun[origin] = (first, Band(self.dtype, state, self._request))
            return self.begun[origin]


def hand_over_experiments(recording: Recording, dtype: str, backends: list[str]) -> list[HandOverStart | HandOverRun]:
    start = HandOverStart(recording, dtype)
    return [start, HandOverRun(start, backends)] if dtype in LADDER[FIRST].dtypes else []
