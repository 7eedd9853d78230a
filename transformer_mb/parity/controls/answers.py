"""Negative controls in what comes back: numbers that are not finite, and in formats of few bits errors that are too large."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...columns.messages import Arrays
from ..cells import FAILED, Ask, ControlResult, Experiment, Result
from ..computing.messages import Request
from ..ladder import LADDER
from ..verdict.answers import judged
from ..verdict.comparison import Comparison
from ..verdict.limits import FLOOR, TIMES_ROUNDED, ByArray, Errors, Verdict, errors, least_measure, norm, worst_errors

WRONG = {"NaN": np.nan, "infinity": np.inf}


class Replay:
    """Asks once: an experiment that is run again gets the answers of its first run, in their order."""

    def __init__(self, ask: Ask):
        self.ask = ask
        self.answers: list[Arrays] = []

    def __call__(self, request: Request) -> Arrays:
        self.answers.append(self.ask(request))
        return self.answers[-1]

    def again(self, spoiled: Mapping[str, float]) -> Ask:
        """Return an ``Ask`` with the same answers, the middle number of each named array replaced."""
        place = iter(range(len(self.answers) + 1))

        def ask(request: Request) -> Arrays:
            number = next(place)
            answer = self.answers[number] if number < len(self.answers) else self(request)
            return {name: _with(value, spoiled[name]) if name in spoiled else value for name, value in answer.items()}

        return ask


def _with(value: np.ndarray, wrong: float) -> np.ndarray:
    value = value.copy()
    value.flat[value.size // 2] = wrong
    return value


def kinds(answers: list[Arrays]) -> dict[str, list[str]]:
    """Names of float arrays by kind: outputs and losses by themselves, then all gradients, weights, or moments of one slot."""
    names_by_kind: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for answer in answers for name, value in answer.items() if value.dtype.kind == "f"):
        kind = re.match(r"(state \d+\.)?(slots\.\w+|\w+)", name)
        names_by_kind.setdefault(kind[0] if kind else name, []).append(name)
    return names_by_kind


def spoil(experiment: Experiment, backend: str, replay: Replay) -> Iterator[ControlResult]:
    """Put each kind of wrong number, by row, into the first array, one in the middle and the last, each by itself."""
    if not replay.answers:  # to know what it asks for; refused at once, so that nothing is computed from it
        judged(
            experiment,
            backend,
            lambda request: {name: value * np.nan for name, value in replay(request).items() if value.dtype.kind == "f"},
        )
    for kind, names in kinds(replay.answers).items():
        for word, wrong in WRONG.items():
            places = {"first": names[0], "middle": names[len(names) // 2], "last": names[-1]}
            runs = {place: judged(experiment, backend, replay.again({name: wrong})) for place, name in places.items()}
            for row in dict.fromkeys(cell.row for cell in experiment.cells(backend)):
                missed = [place for place, results in runs.items() if not _refused(results, row)]
                last = next(result for result in runs["last"] if result.row == row)
                reason = f"not noticed in the {' and '.join(missed)} array" if missed else last.reason
                name = f"{word} in {kind} ({', '.join(places)} array)"
                yield ControlResult(name, *last.cell, backend, not missed, reason)


def _refused(results: list[Result], row: str) -> bool:
    """Refused for that reason in every cell of the row: there is at least one."""
    statuses = [result.status == FAILED and "not finite" in result.reason for result in results if result.row == row]
    return bool(statuses) and all(statuses)


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


def _without_each(comparison: Comparison, row: str, answer: Arrays) -> dict[str, Verdict]:
    """Return the arrays that are a hundredth of all at least: what is less is measured against that."""
    off = comparison.errors_of(answer)[row]
    exact = {name: comparison.expected[f"gradient.{name}"] for name in off}
    least = FLOOR * norm(exact.values())
    zeros = {name: errors(0.0 * value, value, 0.0) for name, value in exact.items() if 0.0 < norm([value]) >= least}
    return {name: comparison.judged_by_few_draws(row, {**off, name: zero}) for name, zero in zeros.items()}
