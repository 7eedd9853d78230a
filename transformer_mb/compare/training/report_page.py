"""Trainings as tabs of the report: the same one on every backend, and one with a default swapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...printable import counted
from ...reports.page import Section
from ...reports.page.tables import tables_section
from .comparison import Comparison, comparison_of
from .effects import Study, study_of, table
from .runs_page import left_out, sentences
from .verdicts import DIFFERENT, SAME


def section(content: Any) -> Section:
    """Return the tab of what ``compare runs --json`` wrote. Raises as ``comparison_of`` for a record that is none."""
    curves = content.get("curves", {}) if isinstance(content, dict) else {}
    return section_of(comparison_of(content), curves)


def section_of(found: Comparison, curves: Mapping[str, Any]) -> Section:
    """Return the tab of a comparison; ``curves`` as ``Comparison.curves`` gives them."""
    verdicts = {column: found.verdict(column) for column in found.columns}
    told = sentences(found)
    return Section(
        kind="runs",
        title="Runs",
        sentence="; ".join([*told[1:], told[0]]) + ".",
        holds=None if found.native else False if DIFFERENT in verdicts.values() else set(verdicts.values()) == {SAME} or None,
        facts={
            "Job": f"{found.job['name']}, {found.job['pairs']:,} pairs, {found.job['steps']} steps",
            "Versions": ", ".join(f"{cost.column} {cost.version}" for cost in found.costs),
            "Took": f"{found.seconds:,.0f} s",
        },
        data={
            "reference": found.reference,
            "margin": found.margin,
            "lines": [asdict(line) for line in found.lines],
            "costs": [asdict(cost) for cost in found.costs],
            "effects": [asdict(effect) for effect in found.effects],
            "left_out": left_out(found),
            "curves": curves,
        },
    )


def effects_section(content: Any) -> Section:
    """Return the tab of what ``compare effects --json`` wrote. Raises as ``study_of`` for a record that is none."""
    return effects_section_of(study_of(content))


def effects_section_of(study: Study) -> Section:
    """Return the tab of a study of swapped defaults."""
    bites = sum(map(study.bites, study.found))
    return tables_section(
        "Effects",
        f"{bites} of {counted(len(study.found), 'swapped default')} move the loss after {study.steps} steps more than "
        "rounding does.",
        [table(study)],
        {"Backend": f"{study.backend} {study.version}", "Seeds": str(len(study.seeds))},
    )
