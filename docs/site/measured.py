"""The report of what is committed, as a page beside those of the site: every cell, default, run and cost."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from transformer_mb.cli.commands.report import recognized, sections
from transformer_mb.reports.page import write_page

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
FOLDER = "measured"  # of the site; index.md links to it
RECORDS = (
    "parity_cpu.json",
    "behaviours.json",
    "effects.json",
    "runs.json",
    "losses.json",
    "speed.json",
    "curves.json",
    "attention.jsonl",
)


def write_measured(app: Sphinx, error: Exception | None) -> None:
    """Write the page when the site's own are finished."""
    if error is None and app.builder.format == "html":
        files = [RESULTS / name for name in RECORDS]
        write_page(Path(app.outdir) / FOLDER, list(sections([(path, *recognized(path)) for path in files])))
