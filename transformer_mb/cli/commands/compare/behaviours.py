"""``transformer-mb compare behaviours``: what each framework's own built-ins do by default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ....columns.ending import TIMEOUT
from ....printable import printable
from ....reports.output import Output
from ....reports.table import Table
from ... import options
from ...options import option

if TYPE_CHECKING:
    from ....compare.expectations import Standing

NAME = "behaviours"


def command(
    backends: options.Backends = None,
    only: Annotated[str, options.only("Probes")] = "*",
    against: Annotated[Path | None, option("--against", "Compare with this earlier --json, not what is expected.")] = None,
    python: Annotated[list[str] | None, option("--python", "NAME@LABEL=INTERPRETER adds a column.")] = None,
    device: options.Devices = None,
    accept: Annotated[bool, option("--accept", "Expect from now on what is measured here.")] = False,
    json_file: options.JsonFile = None,
    markdown: Annotated[Path | None, options.markdown("every fact with its meaning")] = None,
    report: options.Report = None,
    force: options.Force = False,
    timeout: Annotated[float, options.timeout("answer")] = TIMEOUT,
) -> None:
    """Measure what each framework's own built-ins do by default: attention, norms, losses, optimizers, numbers.

    With --device they are asked on that device, and compared with what is expected of the CPU.

    Exit status: 0 every fact is the expected one or new; 1 a fact changed, or a built-in is gone; 2 the call was wrong.
    """
    from ....columns.options import parsed_columns
    from ....compare.document import document
    from ....compare.expectations import accept as expect
    from ....compare.expectations import check_acceptable, check_shared, earlier, standings
    from ....compare.records import read_facts, record
    from ....compare.report_page import section_of
    from ....compare.survey import behaviours, chosen

    columns = parsed_columns(backends, ("float32",), device or [], python or [])
    if accept:
        check_acceptable((column.label, column.device or "cpu") for column in columns)
    probes = chosen(only)
    table = None if against is None else earlier(read_facts(against))
    if table is not None:
        check_shared(table, [column.label for column in columns], [probe.name for probe in probes])
    output = Output(json_file, markdown, force, report)
    output.check()
    facts = behaviours(columns, only, timeout=timeout)
    stand = standings(facts, table)
    show_standings(stand)
    output.write(record(facts), lambda: document(facts), lambda: [section_of(facts)])
    if accept:
        expect(stand)
    elif not all(one.holds for one in stand):
        raise typer.Exit(1)


def show_standings(standings: list[Standing]) -> None:
    """A table of the probes, each value with those that have it; then what changed."""
    from ....compare.words import by_probe, by_value, complaint, counted

    rows = [
        (name, "\n".join(f"{value}: {', '.join(frameworks)}" for value, frameworks in by_value(facts).items()))
        for name, facts in by_probe([one.fact for one in standings]).items()
    ]
    Table(("probe", "answers"), rows).show()
    for one in standings:
        if not one.holds:
            print(printable(complaint(one)))
    print(counted(standings))
