"""The process in which mistakes are made: it holds one backend, the matrix's experiments and what they expect.

It imports the framework once. For each mistake it imports the backend's package anew with a file's text replaced, and
judges experiments by the matrix's own verdict. What fails is judged once more on the backend as it is: only where that
passes was it the mistake that failed.
"""

from __future__ import annotations

import builtins
import faulthandler
import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from transformer_mb.built_in import EVERY_DTYPE, PLAIN_DTYPES
from transformer_mb.columns.messages import pack_arrays, unpack_arrays
from transformer_mb.errors import WorkerError
from transformer_mb.parity.cells import EXPECTED, FAILED, PASSED, Experiment, Result
from transformer_mb.parity.column import by_the_table
from transformer_mb.parity.computing import computations, plain, reference
from transformer_mb.parity.computing.messages import Request
from transformer_mb.parity.controls.requests import short_runs
from transformer_mb.parity.plan import Plan
from transformer_mb.parity.selection import Selection
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.registry import load_backend_class

from .executed import Executed
from .frameworks import COMPILED, DETACH, forget, prepare
from .package import Package
from .sources import judge_of

STEPS = 3  # of a training, one by one, in each dtype
# An experiment may take this many times its usual seconds, and some more, before it counts as hanging.
TIMES, MORE = 30.0, 10.0
GRACE = 30.0  # and more seconds before its process is ended


class TooLong(BaseException):
    """Passes through what catches an Exception."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # No signal reaches a framework that waits for itself, as one does whose memory is damaged.
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def answerer(label: str, backends: dict[str, Any]) -> Callable[[Request], Any]:
    """Answer what the matrix asks of a worker, here: through the same bytes, so that nothing can be written into a request."""

    def ask(request: Request) -> Any:
        request = Request.unpack(*request.pack())
        try:
            now: Any = import_module(computations.__name__)  # which may have been imported anew
            return unpack_arrays(pack_arrays(now.compute(backends[request.dtype], request)))
        except Exception as error:  # whatever a mistake in the code raises: a worker would answer with it
            raise WorkerError(f"{label} raised {type(error).__name__}: {error}") from None

    return ask


class Judge:
    """The experiments of the matrix for one backend, of all seeds that were asked for."""

    def __init__(self, part: str, selection: dict[str, Any], seeds: list[int], instead: str | None = None):
        self.part = part
        backend = self.backend = instead or judge_of(part)
        # Before any mistake is made: for NumPy this is the very package.
        for dtype in EVERY_DTYPE:
            reference.backend(dtype)
        plain.plain_backend()
        for name, where in computations.COMPUTATIONS.items():
            if isinstance(where, str):
                computations.COMPUTATIONS[name] = getattr(import_module(f"{computations.__package__}.{where}"), name)
        prepare(backend, compiled=instead is not None)
        self.package = Package(part, backend)
        loaded = load_backend_class(backend)
        self.dtypes = [dtype for dtype in EVERY_DTYPE if dtype in loaded.dtypes and dtype in selection["dtypes"]]
        self.original = {dtype: loaded(dtype=dtype) for dtype in self.dtypes}
        self.experiments: list[tuple[Experiment, Selection, int]] = []
        for seed in seeds:
            chosen = Selection(**{**selection, "dtypes": tuple(self.dtypes)}, seed=seed)
            self.experiments += [(each, chosen, seed) for each in _short(Plan(chosen, [backend]), backend)]
        self.seconds = [1.0] * len(self.experiments)
        self.judged = 0

    def cells(self) -> list[list[str]]:
        """List the cells that were asked for, of every experiment."""
        ids = []
        for experiment, selection, seed in self.experiments:
            cells = [cell for cell in experiment.cells(self.backend) if selection.takes(cell)]
            ids.append([f"{cell.id}, seed {seed}" for cell in cells])
        return ids

    def listed(self) -> dict[str, list[Any]]:
        """Name each experiment by its first cell, and list those of its cells that were asked for."""
        return {"names": [self.cell(number) for number in range(len(self.experiments))], "cells": self.cells()}

    def cell(self, number: int, row: str = "") -> str:
        """The id of an experiment's cell; without a row of its first."""
        experiment, _, seed = self.experiments[number]
        cells = experiment.cells(self.backend)
        return f"{next((cell for cell in cells if cell.row == row), cells[0]).id}, seed {seed}"

    def results(self, number: int, backends: dict[str, Any], limit: float = 600.0) -> list[Result]:
        """Return the results as a column of the matrix has them."""
        experiment, selection, _ = self.experiments[number]
        try:
            with time_limit(limit):
                results = judged(experiment, self.backend, answerer(self.backend, backends))
        except Exception as error:  # an answer that nothing could be computed from, as in parity/column.py
            text = str(error) if isinstance(error, WorkerError) else f"{type(error).__name__}: {error}"
            results = [Result(*cell, self.backend, FAILED, text) for cell in experiment.cells(self.backend)]
        except TooLong:
            text = f"{self.backend} did not answer within {limit:.0f} seconds"
            results = [Result(*cell, self.backend, FAILED, text) for cell in experiment.cells(self.backend)]
        known = load_backend_class(self.backend).divergences
        return [by_the_table(result, known) for result in results if selection.takes(result.cell)]

    def first_wrong(self, number: int, backends: dict[str, Any], limit: float = 600.0) -> Result | None:
        return next((one for one in self.results(number, backends, limit) if one.status not in (PASSED, EXPECTED)), None)

    def asked(self, number: int) -> str:
        """Return the digest of an experiment's first request: what is recorded under its name is of this alone."""
        requests: list[bytes] = []

        def ask(request: Request) -> Any:
            text, arrays = request.pack()
            requests.append(text.encode() + arrays)
            raise WorkerError("only the request was wanted")

        with suppress(WorkerError):
            judged(self.experiments[number][0], self.backend, ask)
        return hashlib.sha256(requests[0]).hexdigest()[:16]

    def record(self, known: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Tell of each experiment its cell, its seconds and the lines it executes; first of the import.

        Args:
            known: by cell what was asked; such experiments are passed over, as long as they ask the same.
        """
        with Executed(self.part) as executed:
            self.package.anew()
        self.package.restore()
        asked = [self.asked(number) for number in range(len(self.experiments))]
        yield {"imported": executed.lines, "dtypes": self.dtypes, "asked": asked, **self.listed()}
        for number in range(len(self.experiments)):
            if known.get(self.cell(number)) == asked[number]:
                continue
            wrong, executed = self._watched(number)
            row = self.experiments[number][0].cells(self.backend)[0].row
            cell = {"cell": self.cell(number), "row": row, "asked": asked[number]}
            dtype, wrong_as = self.experiments[number][0].dtype, wrong and wrong.reason
            yield {**cell, "dtype": dtype, "seconds": self.seconds[number], "lines": executed.lines, "wrong": wrong_as}

    def _watched(self, number: int) -> tuple[Result | None, Executed]:
        """Run a watched experiment on a package of its own: what others have made or compiled is executed no more.

        But first on the common one, so that it is known how long it takes alone; where all is compiled anew that says nothing.
        """
        wrong = None if self.backend in COMPILED else self.first_wrong(number, self.original)
        dtype = self.experiments[number][0].dtype
        backends = {dtype: self.package.anew()(dtype=dtype)}
        began = time.perf_counter()
        with Executed(self.part) as executed:
            again = self.first_wrong(number, backends)
        self.seconds[number] = time.perf_counter() - began
        self.package.restore()
        return wrong or again, executed

    def judge(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The first experiment that a mistake fails, or several at once, and what the verdict says of it."""
        began, DETACH.applied = time.perf_counter(), False
        self.judged += 1
        if self.judged % 10 == 0:
            forget(self.backend)
        answer: dict[str, Any] = {"killed": False, "ran": 0}
        try:
            backends: dict[str, Any] = {}
            for number, seconds in zip(asked["experiments"], asked["seconds"], strict=True):
                dtype = self.experiments[number][0].dtype
                wrong, row = None, ""
                try:
                    with time_limit(60.0):
                        if not backends:
                            loaded = self.package.anew(asked["texts"])
                        if dtype not in backends:
                            backends[dtype] = loaded(dtype=dtype)
                except (Exception, TooLong) as error:
                    wrong = f"{self.backend} could not be made: {type(error).__name__}: {error}"
                answer["ran"] += 1
                if wrong is None:
                    result = self.first_wrong(number, backends, TIMES * seconds + MORE)
                    wrong, row = (result.reason, result.row) if result else (None, "")
                if wrong is not None:
                    answer |= {"killed": True, "cell": self.cell(number, row), "said": wrong}
                    break
        finally:
            self.package.restore()
        if answer["killed"] and (again := self.first_wrong(number, self.original)):
            answer |= {"spoiled": again.reason}
        return {**answer, "seconds": time.perf_counter() - began, "applied": DETACH.applied}


def _short(plan: Plan, backend: str) -> list[Experiment]:
    """Leave out what needs other backends, and of training all but single steps and a short run."""
    runs = short_runs(plan.recording, PLAIN_DTYPES)
    long = [cell.row for run in runs for cell in run.cells(backend)]
    taken: list[Experiment] = []
    steps: dict[str, int] = {}
    for experiment in plan.experiments:
        rows = [cell.row for cell in experiment.cells(backend)]
        if experiment.after or not rows or set(rows) & {*long}:
            continue
        if rows[0].startswith("stepwise"):
            steps[experiment.dtype] = steps.get(experiment.dtype, 0) + 1
            if steps[experiment.dtype] > STEPS:
                continue
        taken.append(experiment)
    selection = plan.selection
    return taken + [run for run in runs if all(map(selection.takes, run.cells(backend)))]


def begin(
    part: str, selection: dict[str, Any], seeds: list[int], known: Mapping[str, str] | None, instead: str | None = None
) -> tuple[Iterator[str], Callable[[str], str]]:
    """Begin as the process: what it records beside what is known (None: nothing), and the function that answers a mistake."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    judge = Judge(part, selection, seeds, instead)
    builtins.detached = DETACH  # type: ignore[attr-defined]  # what ``cut_gradient`` writes into a file
    recorded = iter([judge.listed()]) if known is None else judge.record(known)
    return map(json.dumps, recorded), lambda text: json.dumps(judge.judge(json.loads(text)))
