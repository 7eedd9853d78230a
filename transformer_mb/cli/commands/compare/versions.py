"""``transformer-mb compare versions``: installed versions of one framework beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ....columns.ending import TIMEOUT
from ....reports.output import Output
from ... import options
from ...options import argument, option

if TYPE_CHECKING:
    from ....compare.installed.measuring import Versions

NAME = "versions"


def command(
    columns: Annotated[
        list[str] | None, argument("[COLUMN...]", "NAME, or NAME@LABEL=INTERPRETER: as --backends and --python.")
    ] = None,
    backends: options.Backends = None,
    python: Annotated[list[str] | None, option("--python", "NAME@LABEL=INTERPRETER adds a column.")] = None,
    only: Annotated[str, options.only("Probes")] = "*",
    cases: Annotated[str | None, option("--cases", "Cells of the parity matrix by id.")] = None,
    json_file: options.JsonFile = None,
    markdown: Annotated[Path | None, options.markdown("the tables")] = None,
    report: options.Report = None,
    force: options.Force = False,
    timeout: Annotated[float, options.timeout("answer")] = TIMEOUT,
) -> None:
    """Compare installed versions of one framework: what their built-ins do, how fast they are, and whether parity holds.

    Such as `compare versions torch@old=/path/to/python torch`. That interpreter needs this package too.
    Exit status: 0 measured, whatever differs; 1 a process could not begin, or ended; 2 the call was wrong.
    """
    from ....columns.options import parsed_columns
    from ....compare.installed.measuring import CELLS, check_columns, record, versions
    from ....compare.installed.page import page
    from ....compare.installed.report_page import sections_of
    from ...counting import Counting

    given = [*(python or []), *(column for column in columns or [] if "=" in column)]
    labels = [column.partition("=")[0] for column in [*(columns or []), *(python or [])]]
    specs = parsed_columns([*(backends or []), *labels] or None, ("float32",), (), given)
    check_columns(specs)
    output = Output(json_file, markdown, force, report)
    output.check()
    with Counting() as counting:
        comparison = versions(specs, only, cases or CELLS, timeout, counting.tell)
    show_versions(comparison)
    output.write(record(comparison), lambda: page([comparison]), lambda: sections_of(comparison))


def show_versions(comparison: Versions) -> None:
    """Print what differs first."""
    from ....compare.installed.page import summary, table

    table(comparison).show()
    print(summary(comparison))
