"""docs/VERSIONS.md: what differs between installed versions, from the JSON of runs."""

from __future__ import annotations

from collections.abc import Sequence

from . import tables
from .causes import CAUSES
from .measuring import Comparison
from .speed import BATCH, STEPS, TIMES

HEAD = f"""# What changed between versions

Measured by `transformer-mb compare versions`: the probes of [BEHAVIOURS.md](BEHAVIOURS.md) in installed versions of one
framework, a little speed figure (D2L's model, float32, one thread, {BATCH} pairs of {STEPS} tokens, the median of {TIMES}; on a
machine that others use too, so only large ratios say anything), and a choice of the parity matrix's cells, which says whether
this package computes the same on both. What is the same in all columns is left out.
"""


def page(comparisons: Sequence[Comparison]) -> str:
    return "\n".join([HEAD, *(_section(comparison) for comparison in comparisons)])


def _section(comparison: Comparison) -> str:
    framework = comparison.versions[0].label.partition("@")[0]
    parts = [f"## {framework}\n", f"{tables.summary(comparison)}.\n"]
    if not tables.speed(comparison) or not tables.cells(comparison):
        parts.append("A run of some probes alone; speed and cells were not measured in it.\n")
    for title, rows in (
        ("What its built-ins do", tables.behaviours(comparison)),
        ("Installed", tables.packages(comparison)),
        ("Speed", tables.speed(comparison)),
        ("Cells of the parity matrix", tables.cells(comparison)),
    ):
        if rows:
            parts += [f"### {title}, {framework}\n", _table(tables.heading(comparison), rows)]
    causes = [f"- {name}: {why}" for name, why in CAUSES.get(framework, {}).items() if name in comparison.different()]
    if causes:
        parts += [f"### Read in the installed sources, {framework}\n", "\n".join(causes), ""]
    return "\n".join(parts)


def _table(heading: tables.Row, rows: Sequence[tables.Row]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"
