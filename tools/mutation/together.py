"""Judges many mistakes with fewer runs: those that the first experiments do not kill are judged by the rest together.

Most of them survive, and a survivor takes all experiments that execute its line. So several are made at once, each in another
function. Where a cell fails, each is judged by that cell alone, and who fails it is out. What passes in company has not been
judged by itself: one mistake may hide another, which then counts as a survivor, so that the score can only be too low.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .engine import CUT_GRADIENT, Engine, Verdict
from .judged import EQUIVALENT
from .mutants import Mutant

ALONE = 20.0  # seconds of experiments, as they were recorded, that judge a mistake by itself first


@dataclass
class Suspect:
    """A mistake, what has become of it till now, and the experiments that are still to judge it."""

    mutant: Mutant
    verdict: Verdict
    left: list[int]

    def judged(self, verdict: Verdict) -> Suspect:
        """Return the suspect with the verdict on it by itself."""
        own = replace(verdict, ran=self.verdict.ran + verdict.ran, seconds=self.verdict.seconds + verdict.seconds)
        # Whether a gradient was cut may have shown before.
        changed = "survived" in (verdict.status, self.verdict.status) and verdict.status != "killed"
        return replace(self, verdict=replace(own, status="survived") if changed else own)

    def passed(self, verdict: Verdict, company: int) -> Suspect:
        """Together with others, which share the seconds."""
        cut = self.mutant.operator == CUT_GRADIENT
        status = verdict.status if cut else "survived"
        return self.judged(Verdict(status, ran=len(self.left), seconds=verdict.seconds / company))


def judged(engine: Engine, mutants: Sequence[Mutant], killers: Mapping[str, str]) -> Iterator[tuple[Mutant, Verdict]]:
    """Every mistake with its verdict, as soon as there is one. ``killers``: the cells that killed some by other code.

    What survives, and is no equal of what it replaces, is judged once more where its framework compiles.
    """
    survivors: list[tuple[Mutant, Verdict]] = []
    for mutant, verdict in _judged(engine, mutants, killers):
        if verdict.status == "survived" and mutant.key not in EQUIVALENT:
            survivors.append((mutant, verdict))
        else:
            yield mutant, verdict
    if survivors:
        with engine.again() as judged_again:
            for mutant, verdict in survivors:
                again = judged_again(mutant) if judged_again else verdict
                yield mutant, again if again.status == "killed" else verdict


def _judged(engine: Engine, mutants: Sequence[Mutant], killers: Mapping[str, str]) -> Iterator[tuple[Mutant, Verdict]]:
    suspects: list[Suspect] = []
    for mutant in mutants:
        again = engine.judge_by_cell(mutant, killers.get(mutant.key, ""))
        if again is not None and again.status == "killed":
            yield mutant, again
            continue
        suspect = _alone(engine, mutant)
        if suspect.left and suspect.verdict.status != "killed":
            suspects.append(suspect)
        else:
            yield mutant, suspect.verdict
    for group in groups(suspects):
        for suspect in _together(engine, group):
            yield suspect.mutant, suspect.verdict


def _alone(engine: Engine, mutant: Mutant) -> Suspect:
    numbers, seconds, count = engine.order(mutant, engine.seen_by(mutant)), 0.0, 0
    while count < len(numbers) and seconds < ALONE:
        seconds += engine.recorded.seconds[numbers[count]]
        count += 1
    return Suspect(mutant, engine.judge_by(mutant, numbers[:count]), numbers[count:])


def groups(suspects: Sequence[Suspect]) -> list[list[Suspect]]:
    """Form as few groups as possible with one mistake per function, and one cut gradient, which tells whether it cut any."""
    found: list[list[Suspect]] = []
    for suspect in suspects:
        taken = _places(suspect.mutant)
        group = next((group for group in found if not any(taken & _places(other.mutant) for other in group)), None)
        if group is None:
            found.append([suspect])
        else:
            group.append(suspect)
    return found


def _places(mutant: Mutant) -> set[str]:
    return {f"{mutant.file} {mutant.function}"} | ({CUT_GRADIENT} if mutant.operator == CUT_GRADIENT else set())


def _together(engine: Engine, group: list[Suspect]) -> Iterator[Suspect]:
    left = sorted({number for suspect in group for number in suspect.left}, key=engine.recorded.seconds.__getitem__)
    while group and left:
        verdict = engine.judge_together([suspect.mutant for suspect in group], left)
        if verdict.status != "killed":
            yield from (suspect.passed(verdict, len(group)) for suspect in group)
            return
        if not verdict.ran:  # the process died, at an unknown place
            yield from (_by_itself(engine, suspect, left) for suspect in group)
            return
        number, left = left[verdict.ran - 1], left[verdict.ran :]
        remaining = []
        for suspect in group:
            own = engine.judge_by(suspect.mutant, [number]) if number in suspect.left else Verdict("survived")
            if own.status == "killed":
                yield suspect.judged(own)
            else:
                remaining.append(suspect)
        if len(remaining) == len(group):  # none of them fails it alone
            yield from (_by_itself(engine, suspect, [number, *left]) for suspect in group)
            return
        group = remaining
    yield from group


def _by_itself(engine: Engine, suspect: Suspect, left: Sequence[int]) -> Suspect:
    return suspect.judged(engine.judge_by(suspect.mutant, [number for number in suspect.left if number in set(left)]))
