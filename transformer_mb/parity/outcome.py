"""The findings of a run, and how much of it there was to find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..built_in import DEFAULT
from .cells import ControlResult, Result


@dataclass(frozen=True)
class Difference:
    """The place where a failed model first differs: ``cause`` in a few words, ``tree`` with all sublayers."""

    backend: str
    cell: str
    cause: str
    tree: str


@dataclass
class Outcome:
    """The result of a run.

    Args:
        planned_cells: by column, how many cells were to be executed. executed: for how many a worker was asked; those of one
            that could not be asked have failed, but were not executed.
        backends: by column, what its worker said of itself, or the error with which it did not start.
        idle: columns that did nothing of what was asked, and why, one sentence each.
        interrupted: what ended the run before its end, such as KeyboardInterrupt; its results till then are here.
    """

    results: list[Result] = field(default_factory=list)
    controls: list[ControlResult] = field(default_factory=list)
    planned_cells: dict[str, int] = field(default_factory=dict)
    executed: int = 0
    seconds: float = 0.0
    backends: dict[str, dict[str, Any]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    interrupted: BaseException | None = None

    @property
    def planned(self) -> int:
        return sum(self.planned_cells.values())

    def count(self, *statuses: str) -> int:
        return sum(result.status in statuses for result in self.results)

    @property
    def own(self) -> int:
        """Cells of NumPy, whose code the reference is too: but for what ``computing.plain`` has, they prove nothing."""
        return sum(is_own(result.backend) for result in self.results)

    @property
    def code(self) -> str | None:
        """The digest of the code that was measured, which all workers have; None where none started."""
        return next((str(greeting["digest"]) for greeting in self.backends.values() if "digest" in greeting), None)

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if result.has_failed]

    @property
    def missed(self) -> list[ControlResult]:
        return [control for control in self.controls if not control.caught]

    @property
    def holds(self) -> bool:
        complete = self.interrupted is None and 0 < self.executed == self.planned == len(self.results)
        return complete and not self.failed and not self.idle and not self.missed

    def failures(self) -> dict[str, list[Result]]:
        """Group what failed by its reason: a worker that did not start, or that has died, gives all its cells the same."""
        grouped: dict[str, list[Result]] = {}
        for result in self.failed:
            grouped.setdefault(result.reason, []).append(result)
        return grouped

    def causes(self) -> dict[tuple[str, str], list[Difference]]:
        """Return the findings in failed models, by backend and cause."""
        grouped: dict[tuple[str, str], list[Difference]] = {}
        for difference in self.differences:
            grouped.setdefault((difference.backend, difference.cause), []).append(difference)
        return grouped


def is_own(backend: str) -> bool:
    return backend.partition("@")[0] == DEFAULT


class Watcher:
    """A listener that is called as a run goes on, by several threads. This one does nothing."""

    def planned(self, cells: Mapping[str, int]) -> None:
        """The number of cells to execute, by column; called again when a worker offers more or less."""

    def result(self, result: Result) -> None:
        """A cell was judged."""

    def column_ends(self, label: str) -> None:
        """A column has done what is its own; hand-overs may follow."""
