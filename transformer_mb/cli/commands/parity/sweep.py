"""``transformer-mb parity --seeds`` and ``--collect``: many runs of the matrix, a file each, and what they found together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....printable import counted, printable
from ....reports.output import Output, each_written
from ....reports.table import matrix_console
from ...options import option
from ...placing import Placing, given_options, tell_line

if TYPE_CHECKING:
    from ....columns.column import Column
    from ....parity.selection import Selection
    from ....parity.sweeping.findings import Findings

SHOWN = 25  # failures and nearest results; --json has all


@dataclass(frozen=True)
class Sweeping:
    """The options of a sweep."""

    seeds: Annotated[str | None, option("--seeds", "Run once for each of 0-49, or of 0,3,7-9, into --out.")] = None
    out: Annotated[Path | None, option("--out", "A folder for --seeds, a file per run; what it holds is not run again.")] = None
    collect: Annotated[Path | None, option("--collect", "Run nothing; report what such a folder holds, and lacks.")] = None

    def wanted(self, placing: Placing) -> bool:
        return self != Sweeping() or placing != Placing()

    def check(self, placing: Placing, given: Sequence[str], only_here: Sequence[str]) -> None:
        """Refuse options that do not go together.

        Args:
            given: options of a single run that were given. only_here: those of them that a sweep has no place for.
        Raises: ParityError, UnitsError.
        """
        from ....errors import ParityError

        own = [*given_options(self), *given_options(placing)]
        if self.collect is not None:
            if others := [*given, *(one for one in own if one not in ("--collect", "--seeds"))]:
                raise ParityError(f"--collect must come with --seeds, --json and --force alone, got {', '.join(others)}.")
            if not self.collect.is_dir():
                raise ParityError(f"--collect must be the folder of a sweep, got {self.collect}, which is no folder.")
            return
        if self.seeds is None or self.out is None:
            raise ParityError(f"A sweep needs --seeds and --out, got {', '.join(own)}.")
        placing.check()
        if alone := [option for option in given if option in only_here]:
            raise ParityError(f"{', '.join(alone)} must be of a single run, got --seeds {self.seeds} beside it.")


def seeds_of(text: str) -> list[int]:
    """``0-3,7`` as 0, 1, 2, 3, 7. Raises ParityError."""
    from ....errors import ParityError

    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise ParityError(f"--seeds must be numbers, or ranges such as 0-49, with commas between them, got {text!r}.")
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)


def check_json(path: Path | None, force: bool, never: Sequence[Path | None]) -> None:
    """Refuse, with ParityError, a file that is no earlier result of a sweep, and with OSError one that cannot be written."""
    from ....errors import ParityError
    from ....files.whole_file import check_apart, check_writable
    from .files import is_missed

    check_apart(path, never)
    check_writable(path)
    if path is not None and not force and is_missed(path, r'{\s*"units":'):
        raise ParityError(
            f"--json must be new, or hold an earlier result of a sweep, but {path} does not; --force replaces it."
        )


def read_sweep(folder: Path, seeds: str | None) -> Findings:
    from ....errors import ParityError
    from ....parity.sweeping.folder import SweepFolder
    from ....parity.sweeping.sweep import collected

    findings = collected(SweepFolder(folder), seeds_of(seeds) if seeds else ())
    if not findings.units:
        raise ParityError(f"--collect must be the folder of a sweep, got {folder}, which holds no unit.")
    return findings


def run_sweep(
    asked: Sweeping, placing: Placing, columns: Sequence[Column], selection: Selection, timeout: float, jobs: int | None
) -> Findings:
    """Run what ``--out`` does not hold yet, and read it all."""
    from ....files.whole_file import check_writable
    from ....parity.matrix import plan_of
    from ....parity.sweeping.folder import SweepFolder
    from ....parity.sweeping.sweep import found_in, run_missing
    from ....parity.sweeping.unit import answered, units_of
    from ....units.running import missing
    from ...reporting import ended_cleanly

    assert asked.out is not None and asked.seeds is not None
    check_writable(asked.out / "units" / "a file")
    folder, units = SweepFolder(asked.out), units_of(selection, columns, seeds_of(asked.seeds), timeout)
    new = missing(units, folder)
    tell_line(f"{counted(len(units), 'unit')}, {len(units) - len(new)} of them in {asked.out} already")
    unable: dict[str, str] = {}
    if new:
        if selection.cases is not None:
            plan_of(new[0].selection, columns).check()
        with ended_cleanly(), placing.engine(answered, any(column.on_gpu for column in columns), jobs) as engine:
            unable = run_missing(units, folder, engine, tell_line)
    return found_in(units, folder, unable)


def tell_findings(findings: Findings, json_file: Path | None) -> None:
    """The report, and an exit status of 1 where it is not all well."""
    with each_written() as attempt:
        attempt(lambda: Output(json_file).write(findings.to_json()))
        if findings.nearest:
            console = matrix_console()
            console.print(_table(findings))
        print("\n".join(map(printable, _lines(findings))))
    if not findings.holds:
        raise typer.Exit(1)


def _table(findings: Findings) -> Any:
    """Rows of the ladder; columns with their versions; in each cell the share of the limit, its seed, and the least."""
    from rich.table import Table

    from ....parity.ladder import LADDER

    labels = list(findings.versions)
    headings = [printable(f"{label} {findings.versions[label][0]}") for label in labels]
    table = Table("row", "dtype", *headings, title="Closest share of the limit: its seed, and the least of any seed")
    for column in table.columns:
        column.overflow = "fold"  # a narrow terminal shows no less than a file
    for row, dtype in ((one.name, dtype) for one in LADDER.values() for dtype in one.dtypes):
        cells = [findings.nearest.get((label, row, dtype)) for label in labels]
        if any(cells):
            table.add_row(row, dtype, *(f"{one.share:.2f} ({one.seed}; {one.lowest:.2f})" if one else "-" for one in cells))
    return table


def _lines(findings: Findings) -> list[str]:
    lines = [
        f"{one.share:.2f} seed {one.seed}, {one.result.backend}, {one.result.cell.id}: {one.result.reason}"
        for one in findings.ordered[:SHOWN]
    ]
    failures = [
        f"FAILED seeds {_few(sorted(one.seeds))}, {backend}, {counted(one.cells, 'cell')} ({one.first}): {reason}"
        for (backend, reason), one in findings.failures.items()
    ]
    lines += failures[:SHOWN]
    if len(failures) > SHOWN:
        lines.append(f"... and {counted(len(failures) - SHOWN, 'more reason')}; --json has them all")
    lines += [f"FAILED {line}" for line in findings.incomplete]
    lines += [f"NOT EXECUTED {line}" for line in findings.missed]
    lines += [f"REFUSED {line}" for line in findings.refused]
    retried = f", {findings.retried} of them after a retry" if findings.retried else ""
    return [
        *lines,
        f"{findings.read} of {counted(findings.units, 'unit')} read{retried}: {counted(findings.cells, 'cell')} over "
        f"{counted(len(findings.seeds), 'seed')}, "
        f"{findings.failed} failed",
    ]


def _few(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds[:5])) + (f" and {len(seeds) - 5} more" if len(seeds) > 5 else "")
