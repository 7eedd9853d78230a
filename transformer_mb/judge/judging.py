"""A port judged: both sides kept apart, cases drawn by seeds that no side has seen, and everything that was found."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..check import Case, Figure, Plant, Session, opened
from ..check.bisection import bisect
from ..check.judging import judge as judged_case
from ..check.limits import worst_figures
from ..check.report import SHOWN
from ..check.sensitivity import planted, steady
from ..check.session import Plan
from ..errors import TransformerMBError, WorkerError
from ..printable import listed
from ..random_streams import stream
from . import confine
from .port_file import Port, read_port
from .rules import confined, hidden_from
from .sources import Side, both_sides, names_in

CALLS, MORE_CALLS = 4, 4  # new cases at least, and how many more there may be: a candidate cannot count on their number
BITS = 62  # of a seed
LARGER = (2, 8)  # by how much a size may grow, the end left out: a candidate cannot know
WAVERING = {"float64": 1e-11, "float32": 1e-6}  # relative: two answers to one question differ by less, whatever threads do
SHARE_WIDER, WIDER = 0.2, 16.0  # of the numbers of an input, and how many times they are as large


@dataclass(frozen=True)
class Seeds:
    """The seeds of a case: of its weights and inputs, and of the cotangents, which alone its processes are told."""

    values: int
    cotangents: int
    larger: bool = False  # in every size, by as much as ``values`` says
    wider: bool = False  # some numbers of the inputs are far larger than the others

    @classmethod
    def drawn(cls, larger: bool = False, wider: bool = False) -> Seeds:
        return cls(secrets.randbits(BITS), secrets.randbits(BITS), larger, wider)


def new_seeds(port: Port) -> tuple[Seeds, ...]:
    """Draw the seeds of the cases of one judgement: after the candidate's code was loaded, by the system's own randomness."""
    calls = [Seeds.drawn() for _ in range(CALLS + secrets.randbelow(MORE_CALLS + 1))]
    return (*calls, Seeds.drawn(wider=True), *([Seeds.drawn(larger=True)] if port.sizes else []))


@dataclass(frozen=True)
class Judgement:
    """The findings of a judge.

    Args:
        sides: the reference and the candidate with their files. seeds: of the cases that were drawn.
        figures: every array in every format, of the case in which it takes most of its limit; every: of all cases.
        planted: mistakes that were planted; steady: whether changes that cannot matter passed.
        weights: the pairs as text; kept: tensors that stayed as their factory made them, so that nothing varied them.
        processes: by role, what each said of itself. tree: of a case that failed, the modules with what each loses by itself.
        confined: Landlock's version, 0 where nothing kept the sides apart.
        objections: why it is not certified whatever the figures say. notes: what a reader ought to know.
    """

    port: Port
    sides: tuple[Side, Side]
    seeds: tuple[Seeds, ...]
    figures: tuple[Figure, ...]
    every: tuple[Figure, ...]
    planted: tuple[Plant, ...]
    steady: bool
    weights: dict[str, str]
    kept: tuple[str, ...]
    processes: dict[str, dict[str, Any]]
    tree: list[str]
    confined: int
    objections: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def wrong(self) -> list[Figure]:
        return [one for one in self.figures if not one.passed]

    @property
    def certified(self) -> bool:
        return bool(self.figures) and not self.reasons

    @property
    def reasons(self) -> list[str]:
        """Return why it is not certified, one sentence each; nothing where it is."""
        blind = [plant.what for plant in self.planted if plant.status == "blind"]
        reasons = [*self.objections, *(f"{one.dtype} {one.part}: {one.reason}" for one in self.wrong)]
        reasons += [] if self.steady else ["A change that cannot matter was taken for a mistake, so the comparison is broken."]
        reasons += [f"The comparison would not notice: {', '.join(blind)}."] if blind else []
        return reasons


def judge(path: Path, seeds: Sequence[Seeds] | None = None) -> Judgement:
    """Judge the port that a file names.

    Args:
        seeds: of the cases, to find again what was found before; default: new ones.
    Raises: ConfigError, WeightMapError for a file that names nothing to compare; WorkerError where a side ends or cannot begin.
    """
    port = read_port(path)
    sides = both_sides(port)
    with _session(port, sides) as session:
        seeds = tuple(seeds or new_seeds(port))
        try:
            return _judged(port, sides, session, seeds)
        except TransformerMBError:
            raise
        except Exception as error:  # an answer that no honest process of ours gives
            raise WorkerError(f"An answer could not be judged: {type(error).__name__}: {error}.") from None


@contextmanager
def _session(port: Port, sides: tuple[Side, Side]) -> Iterator[Session]:
    """Give both sides in processes that see their own files alone."""
    hidden = hidden_from(port.candidate, port.reference, sides[0].package)
    with tempfile.TemporaryDirectory() as place:
        folder, subjects = Path(place).resolve(), []
        for role, side, less in (("reference", sides[0], set[str]()), ("candidate", sides[1], hidden)):
            subject = side.copied(folder / role / "files")
            if confine.version():
                subject = confined(subject, folder / role, less, port.path.parent)
            subjects.append(subject)
        reference, candidate = subjects
        compared = opened(
            reference, candidate, weights=port.weights, inputs=port.inputs, sizes=port.sizes, gradients=port.gradients
        )
        try:
            with compared as session:
                yield session
        except WorkerError as error:  # whose reader knows no folder of ours
            words = str(error)
            for role in ("reference", "candidate"):
                words = words.replace(f"{folder / role / 'files'}/", "")
            raise type(error)(words) from None


def _judged(port: Port, sides: tuple[Side, Side], session: Session, seeds: tuple[Seeds, ...]) -> Judgement:
    figures, failed, seen = list[Figure](), None, dict[str, set[Any]]()
    for number, case in enumerate(_cases(session, seeds)):
        for name, value in case.inputs.items():
            seen.setdefault(name, set()).update(np.unique(value)[:2].tolist())
        found = judged_case(session, case, number)
        figures += found
        failed = failed or next(((case, one.dtype) for one in found if not one.passed), None)
    first = [_case(session, each) for each in seeds] if failed is None else []
    return Judgement(
        port,
        sides,
        seeds,
        tuple(worst_figures(figures)),
        tuple(figures),
        tuple(planted(session, first)) if first else (),
        steady(session, first[0]) if first else True,
        dict(session.map.texts),
        session.map.kept,
        {side.role: dict(side.greeting) for side in (session.reference, session.candidate)},
        _tree(session, *failed) if failed else [],
        confine.version(),
        (*_objections(port, sides, session), *_constant(seen), *_wavers(session, _case(session, seeds[0]))),
        tuple(_notes(port, sides, session)),
    )


def _tree(session: Session, case: Case, dtype: str) -> list[str]:
    try:
        return str(bisect(session, case, dtype)).splitlines()
    except TransformerMBError as error:  # the verdict stands without it
        return [f"its modules could not be looked into: {error}"]


def _cases(session: Session, seeds: Sequence[Seeds]) -> Iterator[Case]:
    """Yield each case, and at the end the first once more: what answers by counting calls is not there twice."""
    for each in (*seeds, seeds[0]):
        yield _case(session, each)


def _case(session: Session, seeds: Seeds) -> Case:
    plan = session.plan
    if seeds.larger:
        more = {letter: int(stream("larger", seeds.values, letter).integers(*LARGER)) for letter in plan.sizes}
        sizes = {letter: size + more[letter] for letter, size in plan.sizes.items()}
        plan = Plan(plan.weights, plan.inputs, sizes, plan.gradients)
    case = session.draw(seeds.values, plan)
    inputs = {name: _widened(name, value, seeds) for name, value in case.inputs.items()} if seeds.wider else case.inputs
    return replace(case, inputs=inputs, seed=seeds.cotangents)


def _widened(name: str, value: np.ndarray, seeds: Seeds) -> np.ndarray:
    """Return an input with some of its numbers far larger: a port may be right for those that are usual, and no others."""
    if value.dtype.kind != "f":
        return value
    return value * np.where(stream("wider", seeds.values, name).random(value.shape) < SHARE_WIDER, WIDER, 1.0)


def _objections(port: Port, sides: tuple[Side, Side], session: Session) -> Iterator[str]:
    """Yield what keeps a certificate back although the figures may pass."""
    if not confine.version():
        yield "Nothing keeps the candidate from the judge here: that needs Linux 5.13 or newer, whose kernel has Landlock."
    if both_sides(port) != sides or read_port(port.path).digest != port.digest:
        yield "The files have changed while they were judged."
    constants, paired = session.map.constants, session.map.pairs
    if session.reference.names and not paired:
        yield "No weight of the reference has a partner, so that none was varied."
    if constants:
        yield f"Weights of the reference must have partners, got numbers in the place of {', '.join(constants)}."
    if same := [name for name in session.map.kept if _is_constant(session.reference.built[name])]:
        yield f"Weights that are kept must be tables, got what is made all zeros or ones, and trained: {', '.join(same)}."
    if port.gradients and not session.gradients and session.reference.differentiates:
        yield "The candidate's gradients cannot be compared: set GRADIENTS = False for a port that is used forward alone."
    if not sides[0].files and (names := names_in(sides[1], sides[0].subject.factory.rpartition(":")[2])):
        yield f"The candidate names the reference itself, {', '.join(names)}."


def _wavers(session: Session, case: Case) -> Iterator[str]:
    """Say so if the candidate answers one question in two ways: its answers could be right by chance."""
    dtype = session.dtypes[0]
    one, other = (session.by_candidate(case, dtype, False).outputs for _ in range(2))
    pairs = [(value, other[path]) for path, value in one.items() if path in other and other[path].shape == value.shape]
    limit = WAVERING.get(dtype, 1e-2)
    finite = [(a, b) for a, b in pairs if a.dtype.kind == "f" and np.isfinite(a).all() and np.isfinite(b).all()]
    if any(np.linalg.norm(a - b) > limit * np.linalg.norm(a) for a, b in finite):
        yield "The candidate answers the same question otherwise the second time, so that chance decides whether it is right."


def _is_constant(made: np.ndarray) -> bool:
    return made.size > 0 and bool((made == made.flat[0]).all())


def _constant(seen: Mapping[str, set[Any]]) -> Iterator[str]:
    for name, values in seen.items():
        if len(values) == 1:
            yield f"The input {name} was {next(iter(values))} in all cases, so that a port that ignores it would pass."


def _notes(port: Port, sides: tuple[Side, Side], session: Session) -> Iterator[str]:
    if session.map.kept:
        yield f"Kept as their factories make them, and so never varied: {', '.join(session.map.kept)}."
    if port.shared:
        yield f"Both sides are made of {', '.join(port.shared)}: what is computed there is not compared."
    if not session.gradients:
        yield "Gradients were not compared."
    if not sides[0].files and sides[0].package not in hidden_from(port.candidate, port.reference, sides[0].package):
        yield f"The candidate can import {sides[0].package}, in which the reference is: it was searched for its name alone."
    if session.single:
        yield (
            f"Computed in float32 where float64 is asked for: {listed(list(session.single), SHOWN)}. What is off there by less "
            "than float32's limits allow, such as another epsilon, is not told apart."
        )
    if session.truth != "float64":
        yield "The reference has no float64, so that the same mathematics is not proven."


def largest(figures: Sequence[Figure]) -> dict[tuple[str, str], float]:
    """Return the largest share of a limit by format and kind of array."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one in figures:
        groups.setdefault((one.dtype, one.kind), []).append(one.share)
    return {group: float(np.max(shares)) for group, shares in groups.items()}
