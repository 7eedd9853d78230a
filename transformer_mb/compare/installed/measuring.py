"""Versions of one framework, measured: what their built-ins do, how fast they are, which cells hold; and the file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...columns.column import Column
from ...columns.ending import TIMEOUT
from ...columns.gateway import require_execnet
from ...errors import ConfigError, WorkerError
from ...parity.cells import FAILED, PASSED, SURPRISING
from ...parity.matrix import run_matrix
from ...parity.notable import closest
from ...parity.outcome import Outcome
from ...parity.selection import Selection
from ...reports.record import read_record
from ..expectations import differs
from ..facts import Fact
from ..records import facts_of
from ..records import record as facts_record
from ..survey import behaviours, chosen
from ..words import by_probe
from . import speed

CELLS = "stepwise *|optimizer step*|greedy tokens*"  # training and decoding: few models, so that little is compiled


@dataclass(frozen=True)
class Version:
    """A column with what is installed there and what was measured.

    Args:
        label: ``torch`` or ``torch@old``. packages: versions by name, with the interpreter's own.
        speed: milliseconds by the names of ``speed.FIGURES``, or why there are none.
        cells: how many cells of the parity matrix have which status; closest: the largest share of a limit.
        reason: why the first cell that failed did; empty where none did.
    """

    label: str
    packages: Mapping[str, str]
    speed: Mapping[str, float | str]
    cells: Mapping[str, int] = field(default_factory=dict)
    closest: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Versions:
    """Versions of one framework, and the facts of each."""

    versions: tuple[Version, ...]
    facts: tuple[Fact, ...]

    def different(self) -> dict[str, list[Fact]]:
        """The facts that are not the same in all columns, by probe: values that both have first, refusals after them."""
        found = {name: facts for name, facts in by_probe(self.facts).items() if differs(facts)}
        return dict(sorted(found.items(), key=lambda item: any(fact.raised for fact in item[1])))

    @property
    def probes(self) -> int:
        return len(by_probe(self.facts))


def check_columns(columns: Sequence[Column]) -> None:
    """Refuse, with ConfigError, columns that are not two or more of one framework."""
    labels = ", ".join(column.label for column in columns)
    if len(columns) < 2 or len({column.backend for column in columns}) > 1:
        raise ConfigError(f"compare versions must be given at least two columns of one framework, got {labels or 'none'}.")


def versions(
    columns: Sequence[Column],
    only: str = "*",
    cases: str = CELLS,
    timeout: float = TIMEOUT,
    progress: Callable[[str], None] = lambda text: None,
) -> Versions:
    """Measure for each column its behaviors, the speed of a few operations, and some cells of the parity matrix.

    Args:
        columns: at least two of one framework, ``Column("torch@old", "/path/to/python"), Column("torch")``. The
            interpreter needs this package beside its own version of the framework.
        only: a pattern of probes' names. cases: one of cells' ids. progress: called with what begins.
    Raises:
        ConfigError: other columns, or no such probe. ParityError: no such cell. WorkerError: a process could not begin.
    """
    check_columns(columns)
    chosen(only)
    require_execnet()
    progress("behaviours")
    facts = behaviours(columns, only, timeout=timeout)
    progress("speed")
    quick = {column.label: _speed(column, timeout) for column in columns}
    progress("cells of the parity matrix")
    outcome, _ = run_matrix(columns, Selection(cases=cases), timeout=timeout)
    return Versions(tuple(_version(column, *quick[column.label], outcome) for column in columns), tuple(facts))


def _speed(column: Column, timeout: float) -> tuple[dict[str, str], dict[str, float | str]]:
    """Measure one column after the other, so that none slows another."""
    with (
        tempfile.TemporaryDirectory() as folder,
        column.open(speed.__name__, (column.backend,), Path(folder), timeout) as process,
    ):
        packages = json.loads(process.greeting)
        try:
            return packages, json.loads(process.receive())
        except WorkerError as error:
            return packages, dict.fromkeys(speed.FIGURES, str(error))


def _version(column: Column, packages: Mapping[str, str], figures: Mapping[str, float | str], outcome: Outcome) -> Version:
    results = [result for result in outcome.results if result.backend == column.label]
    statuses = [result.status for result in results]
    cells = {status: statuses.count(status) for status in sorted(set(statuses))}
    nearest: Any = next(iter(closest(one for one in results if one.status == PASSED)), None)
    failed = [result for result in results if result.status in (FAILED, SURPRISING)]
    reason = f"{failed[0].cell.id}: {failed[0].reason}" if failed else ""
    return Version(column.label, packages, figures, cells, nearest and nearest.share, reason)


def record(comparison: Versions) -> dict[str, Any]:
    return {"versions": [asdict(one) for one in comparison.versions], **facts_record(comparison.facts)}


def read_versions(path: Path) -> Versions:
    return read_record(path, "versions", versions_of)


def versions_of(content: Any) -> Versions:
    """Return the comparison that ``record`` wrote; raises KeyError, TypeError or ValueError for other JSON."""
    return Versions(_versions(content), tuple(facts_of(content)))


def _versions(content: Any) -> tuple[Version, ...]:
    return tuple(Version(**one) for one in content["versions"])
