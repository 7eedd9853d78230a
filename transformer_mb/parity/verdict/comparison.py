"""One request asked of a backend and of the oracle, and how far the answers are apart, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from ...rounding import rounded
from ..cells import FAILED, PASSED, Ask, Cell, Result
from ..computing.messages import Arrays, Request, under
from ..computing.precision import perturbed_copy
from ..computing.reference import Oracle
from .answers import check_answer
from .limits import TWINS, Yardsticks, judge
from .measure import error, gradient_floor, worst

# By row: what a computation's answer is judged for.
Errors = dict[str, float]


def layer_errors(request: Request, got: Arrays, exact: Arrays) -> Errors:
    outputs = [name for name in exact if name.startswith("output")]
    found = {"layer forward": worst(error(got[name], exact[name]) for name in outputs)}
    if gradients := under("gradient", exact):
        found["layer gradients"] = _together(under("gradient", got), gradients)
    return found


def model_errors(request: Request, got: Arrays, exact: Arrays) -> Errors:
    outputs = [name for name in exact if name in ("states", "logits", "pooled")]
    found = {"model forward": worst(error(got[name], exact[name]) for name in outputs)} if outputs else {}
    if "loss" in exact:
        found["model loss"] = error(got["loss"], exact["loss"])
        found["model gradients"] = _together(under("gradient", got), under("gradient", exact))
    return found


def update_errors(request: Request, got: Arrays, exact: Arrays) -> Errors:
    """The change of the weights, not the weights: a small step must not hide behind a large weight."""
    before = under("weights", request.arrays)
    changes = [{name: value - before[name] for name, value in under("weights", result).items()} for result in (got, exact)]
    groups = [changes] + [[under(f"slots.{slot}", result) for result in (got, exact)] for slot in ("m", "v", "momentum")]
    return {"optimizer step": worst(_together(*group) for group in groups if group[1])}


def step_errors(request: Request, got: Arrays, exact: Arrays) -> Errors:
    found = model_errors(request, got, exact) | update_errors(request, got, exact)
    return {row: found[limit] for row, limit in LIMITS.items()}


def _together(got: Arrays, exact: Arrays) -> float:
    """The worst error of arrays whose sizes are compared with that of all of them together."""
    floor = gradient_floor(exact) + float(np.finfo(np.float64).tiny)
    return worst(error(got[name], exact[name], floor) for name in exact)


ERRORS: dict[str, Callable[[Request, Arrays, Arrays], Errors]] = {
    "layer": layer_errors,
    "part": layer_errors,
    "model": model_errors,
    "update": update_errors,
    "step": step_errors,
}
# Steps along a trajectory are held to the limits of the rows of which they are made.
LIMITS = {"stepwise loss": "model loss", "stepwise gradients": "model gradients", "stepwise update": "optimizer step"}
# Rows that start from given gradients: there a twin's weights would be off by more than the step that is judged.
WITHOUT_TWINS = ("optimizer step", "stepwise update")


class Comparison:
    """An experiment of one request.

    Args:
        rows: what its cells are called; the first word of a limit's row may differ, see LIMITS.
        make: makes the request when it is first needed; its arrays are rounded to the dtype.
    """

    after = False

    def __init__(
        self,
        case: str,
        dtype: str,
        rows: tuple[str, ...],
        make: Callable[[], Request],
        oracle: Oracle,
        ill_conditioned: bool = False,
    ):
        self.case = case
        self.dtype = dtype
        self.rows = rows
        self.make = make
        self.oracle = oracle
        self.ill_conditioned = ill_conditioned

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(row, self.case, self.dtype) for row in self.rows]

    @cached_property
    def request(self) -> Request:
        return self.make()

    @cached_property
    def exact(self) -> Mapping[str, np.ndarray]:
        return self.oracle.exact(self.request)

    @cached_property
    def yardsticks(self) -> dict[str, Yardsticks]:
        """By row. float64 is held to fixed limits, and needs none unless the case is ill-conditioned."""
        if self.dtype == "float64" and not self.ill_conditioned:
            return {row: Yardsticks() for row in self.rows}
        as_near = {name: rounded(np.asarray(value), self.dtype) for name, value in self.exact.items()}
        rounding, draws, moves = self.errors(as_near), [self.errors(self.oracle.measured(self.request))], []
        for number in range(TWINS if self.dtype in ("float64", "float32") else 0):
            request = perturbed_copy(self.request, number)
            exact = self.oracle.exact(request)
            moves.append(self.errors(exact))
            draws.append(ERRORS[request.computation](request, self.oracle.measured(request), exact))
        return {row: self._yardsticks(row, draws, rounding[row], moves) for row in self.rows}

    @staticmethod
    def _yardsticks(row: str, draws: list[Errors], rounding: float, moves: list[Errors]) -> Yardsticks:
        if row in WITHOUT_TWINS:
            draws, moves = draws[:1], []
        return Yardsticks(_largest(draws, row), rounding, _largest(moves, row))

    def errors(self, got: Arrays) -> Errors:
        return ERRORS[self.request.computation](self.request, got, self.exact)

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.request)
        check_answer(got, self.exact, self.dtype)
        errors, results = self.errors(got), []
        for cell in self.cells(backend):
            verdict = judge(LIMITS.get(cell.row, cell.row), self.dtype, errors[cell.row], self.yardsticks[cell.row])
            status = PASSED if verdict.passed else FAILED
            results.append(Result(*cell, backend, status, verdict.reason, verdict.error, verdict.limit))
        return results


def _largest(errors: list[Errors], row: str) -> float:
    """Of no errors it is 0: a case without twins allows nothing for them."""
    return worst(each[row] for each in errors) if errors else 0.0
