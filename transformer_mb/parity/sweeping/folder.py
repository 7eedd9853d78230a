"""The contents of a sweep's files: a unit as it was planned, and its run, whose sums are those of its results."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypedDict

from ...files.typed_record import check_record
from ...units.folder import UnitFolder
from ...units.unit import name_of
from ..cells import EXPECTED, FAILED, PASSED, SURPRISING, ControlResult, Result

STATUSES = (PASSED, FAILED, EXPECTED, SURPRISING)


class Column(TypedDict):
    """See ``Column``."""

    label: str
    python: str | None
    ssh: str | None
    device: str | None


class Described(TypedDict):
    """See ``Unit.description``."""

    seed: int
    columns: list[dict[str, Any]]
    dtypes: list[str]
    cases: str | None
    controls: bool
    data: str | None
    timeout: float
    environment: dict[str, str]
    source: str


class Controls(TypedDict):
    planted: int
    caught: int


class Ran(TypedDict):
    """Fields that are read of a run; see ``to_json``."""

    unit: dict[str, Any]
    attempts: int
    host: str
    cells: int
    planned: int
    passed: int
    failed: int
    expected_failures: int
    controls: dict[str, Any]
    idle: list[str]
    versions: dict[str, str | None]
    devices: dict[str, str | None]
    results: list[dict[str, Any]]
    control_results: list[dict[str, Any]]


def check_unit(described: Any, name: str) -> None:
    """Check, raising ValueError, that this describes the unit of a file's name."""
    check_record(Described, described, "the unit")
    for column in described["columns"]:
        check_record(Column, column, "a column of the unit")
    if name_of(described) != name:
        raise ValueError(f"the unit must be the one that its file is named after, got {name_of(described)}")


def check_run(run: Any, name: str) -> None:
    """Check, raising ValueError, that this is the run of that unit, and its sums are those of its results."""
    check_record(Ran, run, "the file", others=True)
    check_unit(run["unit"], name)
    check_record(Controls, run["controls"], "controls")
    for number, result in enumerate(run["results"], 1):
        check_record(Result, result, f"result {number}")
        if result["status"] not in STATUSES:
            raise ValueError(f"status of result {number} must be one of {', '.join(STATUSES)}, got {result['status']!r:.40}")
        _check_passed(result, number, run["versions"])
    for number, control in enumerate(run["control_results"], 1):
        check_record(ControlResult, control, f"negative control {number}")
    labels = [column["label"] for column in run["unit"]["columns"]]
    for field in ("versions", "devices"):
        if sorted(run[field]) != sorted(labels):
            raise ValueError(f"{field} must be of the columns {', '.join(labels)}, got {', '.join(run[field]) or 'none'}")
    _check_sums(run, labels)


def _check_passed(result: dict[str, Any], number: int, versions: dict[str, str | None]) -> None:
    """A cell passes by an error within its limit, measured by a column that answered."""
    if result["status"] not in (PASSED, SURPRISING):
        return
    error, limit = result.get("error"), result.get("limit")
    if error is None or limit is None or not 0 <= error <= limit:
        raise ValueError(f"error of result {number}, which passed, must be from 0 to its limit, {limit}, got {error}")
    if versions.get(result["backend"], "") is None:
        raise ValueError(
            f"result {number} of {result['backend']} must have failed, since that column did not start, got passed"
        )


def _check_sums(run: dict[str, Any], labels: list[str]) -> None:
    results, controls = run["results"], run["control_results"]
    if strangers := [result["backend"] for result in results if result["backend"] not in labels]:
        raise ValueError(f"backend of each result must be one of {', '.join(labels)}, got {strangers[0]!r:.40}")
    cells = Counter((one["backend"], one["row"], one["case"], one["dtype"]) for one in results)
    if twice := [": ".join(cell[:3]) for cell, count in cells.items() if count > 1]:
        raise ValueError(f"each cell must have one result, got several of {twice[0]}")
    counts = Counter(one["status"] for one in results)
    sums = {
        "passed": (run["passed"], counts[PASSED]),
        "failed": (run["failed"], counts[FAILED] + counts[SURPRISING]),
        "expected_failures": (run["expected_failures"], counts[EXPECTED]),
        "planted of controls": (run["controls"]["planted"], len(controls)),
        "caught of controls": (run["controls"]["caught"], sum(one["caught"] for one in controls)),
    }
    for field, (said, counted) in sums.items():
        if said != counted:
            raise ValueError(f"{field} must be the number of such results in the file, {counted}, got {said}")
    for field in ("planned", "attempts"):
        if run[field] < 1:
            raise ValueError(f"{field} must be at least 1, got {run[field]}")
    # Those of a worker that could not be asked have failed, but were not executed.
    if not 0 <= run["cells"] <= len(results):
        raise ValueError(f"cells must be at most the number of results in the file, {len(results)}, got {run['cells']}")


class SweepFolder(UnitFolder):
    """The folder of a sweep."""

    def check_unit(self, described: Any, name: str) -> None:
        check_unit(described, name)

    def check_run(self, run: Any, name: str) -> None:
        check_run(run, name)
