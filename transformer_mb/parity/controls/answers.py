"""Negative controls in what comes back: one number of an answer made NaN or infinite, which every row must refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from ..cells import FAILED, Ask, Experiment, Result
from ..computing.messages import Request
from ..verdict.answers import judged

WRONG = {"NaN": np.nan, "infinity": np.inf}


class Replay:
    """Asks once: an experiment that is run again gets the answers of its first run, in their order."""

    def __init__(self, ask: Ask):
        self.ask = ask
        self.answers: list[Mapping[str, np.ndarray]] = []

    def __call__(self, request: Request) -> Mapping[str, np.ndarray]:
        self.answers.append(self.ask(request))
        return self.answers[-1]

    def again(self, spoil: Mapping[str, float]) -> Ask:
        """The same answers, with the middle number of each named array replaced."""
        place = iter(range(len(self.answers) + 1))

        def ask(request: Request) -> Mapping[str, np.ndarray]:
            number = next(place)
            answer = self.answers[number] if number < len(self.answers) else self(request)
            return {name: _with(value, spoil[name]) if name in spoil else value for name, value in answer.items()}

        return ask


def _with(value: np.ndarray, wrong: float) -> np.ndarray:
    value = value.copy()
    value.flat[value.size // 2] = wrong
    return value


def kinds(answers: list[Mapping[str, np.ndarray]]) -> dict[str, list[str]]:
    """Names of float arrays by kind: outputs and losses by themselves, then all gradients, weights, or moments of one slot."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for answer in answers for name, value in answer.items() if value.dtype.kind == "f"):
        kind = re.match(r"(state \d+\.)?(slots\.\w+|\w+)", name)
        found.setdefault(kind[0] if kind else name, []).append(name)
    return found


def spoil(experiment: Experiment, backend: str, replay: Replay) -> Iterator[tuple[str, str, str, str, str, bool, str]]:
    """For each row, kind of array and wrong number: the mistake, the cell, the backend, whether it was caught, and the words.

    It is planted into the first array of the kind, into one in the middle and into the last, each by itself.
    """
    if not replay.answers:  # to know what it asks for; refused at once, so that nothing is computed from it
        judged(experiment, backend, lambda request: {name: value * np.nan for name, value in replay(request).items()})
    for kind, names in kinds(replay.answers).items():
        for word, wrong in WRONG.items():
            places = {"first": names[0], "middle": names[len(names) // 2], "last": names[-1]}
            runs = {place: judged(experiment, backend, replay.again({name: wrong})) for place, name in places.items()}
            for row in dict.fromkeys(cell.row for cell in experiment.cells(backend)):
                missed = [place for place, results in runs.items() if not _refused(results, row)]
                said = next(result for result in runs["last"] if result.row == row)
                text = f"not noticed in the {' and '.join(missed)} array" if missed else said.reason
                yield f"{word} in {kind} ({', '.join(places)} array)", *said.cell, backend, not missed, text


def _refused(results: list[Result], row: str) -> bool:
    """Refused for that reason in every cell of the row: there is at least one."""
    found = [result for result in results if result.row == row]
    return bool(found) and all(result.status == FAILED and "not finite" in result.reason for result in found)
