"""Results of a run's comparisons: counted, held to a lock, and written; by one process where xdist has several."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "parity"  # of a test's report: a comparison's name and verdict, which JUnit shows and xdist brings


class Results:
    """A plugin that gathers results from the reports of tests.

    Args:
        report: the folder to write. lock: the file that says how many comparisons each test must have run. write: make it.
        first: whether this is the process that gathers, and not one that xdist has started.
    Raises: UsageError for a folder that is there, a lock that is not.
    """

    def __init__(self, report: Path | None, lock: Path | None, write: bool, first: bool):
        self.report, self.lock, self.write, self.first = report, lock, write, first
        self.rows: list[dict[str, Any]] = []
        self.lines: list[str] = []
        if write and lock is None:
            raise pytest.UsageError("--parity-lock-write must come with --parity-lock FILE, got no file.")
        self.locked = read_lock(lock) if lock is not None and not write and first else {}
        if report is not None and first:
            try:
                report.mkdir(parents=True)
            except OSError as error:
                raise pytest.UsageError(f"--parity-report must be a new folder, got {report}: {error.strerror}.") from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results of a test from its report."""
        if report.when == "teardown":
            found = [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]
            self.rows += [{"test": report.nodeid, **row} for row in found]

    def finished(self) -> bool:
        """Write what was asked for; tell whether fewer comparisons ran than the lock says."""
        if not self.first:
            return False
        counts = Counter(row["test"] for row in self.rows)
        if self.rows:
            wrong = sum(row["verdict"] != "passed" for row in self.rows)
            self.lines.append(f"parity: {len(self.rows)} comparisons, {wrong} did not pass")
        if self.lock is not None and self.write:
            self.lock.write_text(json.dumps(dict(sorted(counts.items())), indent=2) + "\n", encoding="utf-8")
        if self.report is not None:
            self._report(self.report)
        fewer = {test: number for test, number in self.locked.items() if counts[test] < number}
        for test, number in fewer.items():
            self.lines.append(f"parity: {test} must run {number} comparisons, as {self.lock} says, got {counts[test]}")
        return bool(fewer)

    def _report(self, folder: Path) -> None:
        """Write all that was found as JSON, and a page of it."""
        (folder / "parity.json").write_text(json.dumps(self.rows, indent=2) + "\n", encoding="utf-8")
        lines = ["# Comparisons", "", "| test | comparison | verdict |", "|---|---|---|"]
        lines += [f"| {row['test']} | {row['name']} | {row['verdict']} |" for row in self.rows]
        for row in self.rows:
            lines += ["", f"## {row['name']}", "", row["test"], "", *(f"    {line}" for line in row["text"].splitlines())]
        (folder / "parity.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        from ..errors import PictureError
        from ..reports.page import write_page
        from ..reports.page.checked import comparisons_section

        with suppress(PictureError):  # without jinja2 the two files are all
            write_page(folder, [comparisons_section(self.rows)])


def read_lock(path: Path) -> dict[str, int]:
    """Read how many comparisons each test must run. Raises UsageError for no such file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise pytest.UsageError(
            f"--parity-lock must be a file that --parity-lock-write has written, got {path}: {error}."
        ) from None
    if not isinstance(content, dict) or not all(type(number) is int for number in content.values()):
        raise pytest.UsageError(f"--parity-lock must hold a number for each test, got {str(content)[:80]} in {path}.")
    return content
