"""Make a failing case small: the smallest sizes, then the simplest values with which it still fails in the same way.

Hypothesis draws and shrinks. A case is kept only if the same module is the first that is wrong by itself, in the same way:
otherwise one mistake would turn into another on the way down.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import ConfigError, WorkerError
from ..extras import install_command
from .case_file import StoredCase, read_case, write_case
from .cases import Case
from .inputs import Given, Sizes, drawn
from .session import Session, opened
from .shrinking_values import Arrays, others, small_inputs
from .subjects import Subject
from .way import Way, way_of

MOST_RUNS = 200
Value = TypeVar("Value")


@dataclass(frozen=True)
class Shrunk:
    """A failing case made small.

    Args:
        case: the smallest that fails as the first did. way: how it fails. sizes: what the letters of the inputs stand for.
        runs: cases that were computed. stored: what ``write`` keeps.
    """

    case: Case
    way: Way
    sizes: Sizes
    runs: int
    stored: StoredCase

    @property
    def others(self) -> int:
        """Count the values of the inputs that are neither 0 nor 1."""
        return others(self.case.inputs)

    def write(self, path: str | Path, force: bool = False) -> None:
        """Write it to a file that ``replay`` reads; raises DestinationError where there is one, unless ``force``."""
        write_case(Path(path), self.stored, force)

    def __str__(self) -> str:
        sizes = ", ".join(f"{letter} = {size}" for letter, size in self.sizes.items())
        lines = [f"{self.way}, still with {sizes or 'these inputs'} ({self.runs} runs):"]
        return "\n".join([*lines, *(f"  {name} = {_shown(array)}" for name, array in self.case.inputs.items())])


def _shown(array: np.ndarray) -> str:
    return np.array2string(array, separator=", ", threshold=60).replace("\n", " ")


class _Search:
    """Asks whether cases fail in one way, each once, and a limited number of times."""

    def __init__(self, session: Session, case: Case, way: Way):
        self.session, self.first, self.way = session, case, way
        self.seen: dict[Hashable, bool] = {}

    def fails(self, inputs: Arrays) -> bool:
        key = tuple((name, array.shape, array.tobytes()) for name, array in inputs.items())
        if key not in self.seen:
            if len(self.seen) >= MOST_RUNS:
                return False
            try:
                self.seen[key] = way_of(self.session, replace(self.first, inputs=inputs)) == self.way
            except WorkerError:  # a size that the layer does not take
                self.seen[key] = False
        return self.seen[key]

    def smallest(self, strategy: Any, fails: Callable[[Value], bool], runs: int) -> Value | None:
        """Return the simplest value that fails; None where none was found."""
        import hypothesis
        from hypothesis.errors import NoSuchExample

        limits = hypothesis.settings(
            max_examples=runs,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        try:
            return hypothesis.find(strategy, fails, settings=limits)
        except NoSuchExample:
            return None


def require_hypothesis() -> None:
    """Refuse, with ConfigError and the line that installs it, to shrink without Hypothesis."""
    if find_spec("hypothesis") is None:
        command = install_command("parity")
        raise ConfigError(f"Shrinking needs hypothesis, which is not installed. Install it with: {command}.")


def shrunk(session: Session, case: Case, sizes: Sizes, inputs: Given) -> Shrunk:
    """Return the smallest case that fails as this one does.

    Raises: ConfigError where it does not fail in float64.
    """
    require_hypothesis()
    from hypothesis import strategies

    way = way_of(session, case)
    if way is None:
        raise ConfigError("A case to shrink must fail in float64, but both sides agree on this one.")
    search = _Search(session, case, way)

    def of_sizes(tried: Sizes) -> Arrays:
        return drawn(inputs, tried, case.seed)

    ranges = strategies.fixed_dictionaries({letter: strategies.integers(1, size) for letter, size in sizes.items()})
    found = search.smallest(ranges, lambda tried: search.fails(of_sizes(tried)), MOST_RUNS // 4) if sizes else None
    best = dict(found or sizes)
    values = search.smallest(small_inputs(inputs, best), search.fails, MOST_RUNS)
    small = replace(case, inputs=values if values is not None else of_sizes(best) if found else case.inputs)
    sides = session.reference, session.candidate
    versions = {side.role: str(side.greeting["version"]) for side in sides}
    stored = StoredCase(sides[0].subject, sides[1].subject, session.map, small, way.to_dict(), versions)
    return Shrunk(small, way, best, len(search.seen), stored)


def shrink(
    reference: Subject,
    candidate: Subject,
    *,
    weights: Any = None,
    inputs: Given,
    sizes: Sizes | None = None,
    seed: int = 0,
    draws: int = 3,
    **options: Any,
) -> Shrunk:
    """Find a case that fails in float64, and make it as small as it can be while it fails in the same module and way.

    Args: as of ``check``.
    Returns: the small case; ``write`` puts it into a file for ``replay``.
    Raises: ConfigError where none of the draws fails in float64, or hypothesis is missing; WorkerError where a subject raises
    an error or ends.
    """
    require_hypothesis()
    with opened(reference, candidate, weights=weights, inputs=inputs, sizes=sizes, **options) as session:
        for number in range(draws):
            case = session.draw(seed + number)
            if way_of(session, case) is not None:
                return shrunk(session, case, sizes or {}, inputs)
    raise ConfigError(f"A comparison to shrink must fail in float64, but both sides agree in {draws} draws.")


@dataclass(frozen=True)
class Replayed:
    """A stored case run again: ``way`` is how it fails now, None if it does not; ``before`` how it did."""

    way: Way | None
    before: Way
    versions: dict[str, tuple[str, str]]

    @property
    def same(self) -> bool:
        return self.way == self.before

    def __str__(self) -> str:
        changed = [f"{side} was {old}, is {new}" for side, (old, new) in self.versions.items() if old != new]
        now = "It fails as it did" if self.same else f"It failed otherwise ({self.before}), now" if self.way else "It failed"
        end = f": {self.way}." if self.way else f" ({self.before}), and does not now."
        return f"{now}{end}" + (f" Versions: {'; '.join(changed)}." if changed else "")


def replay(path: str | Path, **options: Any) -> Replayed:
    """Run a stored case again, in new processes. It runs the code that the file names.

    Raises: CheckpointError for a file that is none; ConfigError, WorkerError where a subject cannot be built any more.
    """
    stored = read_case(Path(path))
    how = {"weights": stored.weights, "inputs": dict(stored.case.inputs), "sizes": {}, **options}
    with opened(stored.reference, stored.candidate, **how) as session:
        versions = {
            side.role: (stored.versions.get(side.role, "unknown"), str(side.greeting["version"]))
            for side in (session.reference, session.candidate)
        }
        return Replayed(way_of(session, stored.case), Way.from_dict(stored.way), versions)
