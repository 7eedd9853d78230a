"""``transformer-mb compare runs``: the same training on several backends over seeds."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ....columns.ending import TIMEOUT
from ....reports.table import table_console
from ... import options
from ...options import option

if TYPE_CHECKING:
    from ....compare.training.comparison import Comparison

NAME = "runs"
SEEDS = re.compile(r"(?P<count>\d{1,4})|(?P<first>\d{1,6})-(?P<last>\d{1,6})")


def command(
    backends: options.Backends = None,
    seeds: Annotated[str, option("--seeds", "How many, or a range such as 0-11; 5 for a verdict, 30 to publish.")] = "12",
    native: Annotated[
        bool, option("--native/--injected", "Own initializers, dropout, Adam and epsilon; or ours in all of them.")
    ] = False,
    attribute: Annotated[bool, option("--attribute", "With --native: also name which own part makes a difference.")] = False,
    margin: Annotated[float, option("--margin", "Seed deviations that are no difference.")] = 1.25,
    reference: Annotated[str, option("--reference", "What the others are compared with.")] = "numpy",
    data: Annotated[Path | None, option("--data", "SOURCE TAB TARGET lines; else the demo's corpus.")] = None,
    json_file: options.JsonFile = None,
    markdown: Annotated[Path | None, options.markdown("the tables")] = None,
    report: options.Report = None,
    force: options.Force = False,
    timeout: Annotated[float, options.timeout("run")] = TIMEOUT,
) -> None:
    """Train the same job on every backend over seeds, and judge the differences by the seeds' noise.

    Exit status: 0 nothing is different, or --native; 1 a backend is different; 2 the call was wrong.
    """
    from ....columns.options import parsed_columns
    from ....compare.training.job import built_in_job, job_of_file
    from ....compare.training.report_page import section_of
    from ....compare.training.runs import runs
    from ....compare.training.runs_page import document
    from ....compare.training.verdicts import DIFFERENT
    from ....reports.output import Output

    columns, chosen = parsed_columns(backends, ("float32",)), parsed_seeds(seeds)
    output = Output(json_file, markdown, force, report)
    output.check(data)
    found = runs(
        columns,
        chosen,
        native=native,
        attribute=attribute,
        margin=margin,
        reference=reference,
        job=built_in_job() if data is None else job_of_file(data),
        timeout=timeout,
        progress=lambda run: print(f"{run.column}, seed {run.seed}: {run.user_seconds:.1f} s", file=sys.stderr, flush=True),
    )
    show_comparison(found)
    output.write(found.to_dict(), lambda: document(found), lambda: [section_of(found, found.curves())])
    if not native and DIFFERENT in map(found.verdict, found.columns):
        raise typer.Exit(1)


def parsed_seeds(text: str) -> list[int]:
    """``12`` is 0 to 11, as ``0-11`` is. Raises ConfigError."""
    from ....errors import ConfigError

    match = SEEDS.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"--seeds must be a number of seeds such as 12, or a range such as 0-11, got {text!r}.")
    if match["count"]:
        return list(range(int(match["count"])))
    return list(range(int(match["first"]), int(match["last"]) + 1))


def show_comparison(found: Comparison) -> None:
    """Print the tables, then what they come to."""
    from ....compare.training.runs_page import left_out, sentences, tables

    for one in tables(found):
        one.show()
    console = table_console()
    for line in [*left_out(found), *sentences(found)]:
        console.print(line)
