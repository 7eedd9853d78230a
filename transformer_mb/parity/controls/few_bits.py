"""Negative controls of formats of few bits: errors that a limit says it would refuse, computed from a cell's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...built_in import PLAIN_DTYPES
from ..cells import ControlResult, Experiment
from ..computing.messages import Arrays
from ..ladder import LADDER
from ..verdict.comparison import Comparison
from ..verdict.limits import TIMES_ROUNDED, Judgement, least_measure
from ..verdict.measure import FLOOR, ByArray, Errors, errors, norm, worst_errors

LOSSY = 2.0 * TIMES_ROUNDED  # twice what is allowed


def few_bits_controls(experiment: Experiment, backend: str, answers: Sequence[Arrays]) -> Iterator[ControlResult]:
    """Plant rounding errors that are too large, where NumPy has any, and set each array's gradient to zero.

    ``answers``: of the backend to the experiment, if it was run; nothing is planted where the format has more bits.
    """
    if not isinstance(experiment, Comparison) or not answers or experiment.judged_in in PLAIN_DTYPES:
        return
    comparison = experiment.judging(backend)
    for cell in comparison.cells(backend):
        drawn = comparison.worst_draw(cell.row)
        if worst_errors(drawn.values()).norm >= least_measure(cell.row, comparison.judged_in):
            lossy = comparison.judged_by_few_draws(cell.row, _times(drawn, LOSSY))
            name = f"{LOSSY:g} times the rounding errors of NumPy"
            yield ControlResult(name, *cell, backend, not lossy.passed, lossy.reason)
        if LADDER[cell.row].measured == "gradients":
            verdicts = _without_each(comparison, cell.row, answers[0])
            if not verdicts:  # of rows with one key each nothing depends on the scores
                continue
            missed = [name for name, verdict in verdicts.items() if verdict.passed]
            nearest = sorted(verdicts.values(), key=lambda one: one.share)[0]
            reason = f"not noticed: {', '.join(missed)}" if missed else nearest.reason
            yield ControlResult(f"a gradient of zero, {len(verdicts)} in turn", *cell, backend, not missed, reason)


def _times(arrays: ByArray, factor: float) -> dict[str, Errors]:
    return {name: Errors(factor * found.norm, factor * found.element) for name, found in arrays.items()}


def _without_each(comparison: Comparison, row: str, answer: Arrays) -> dict[str, Judgement]:
    """Return the arrays that are a hundredth of all at least: what is less is measured against that."""
    off = comparison.errors_of(answer)[row]
    exact = {name: comparison.expected[f"gradient.{name}"] for name in off}
    least = FLOOR * norm(exact.values())
    zeros = {name: errors(0.0 * value, value, 0.0) for name, value in exact.items() if 0.0 < norm([value]) >= least}
    return {name: comparison.judged_by_few_draws(row, {**off, name: zero}) for name, zero in zeros.items()}
