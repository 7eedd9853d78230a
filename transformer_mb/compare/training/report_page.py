"""Trainings as tabs of the report: the same one on every backend, and one with a default swapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypedDict

from ...files.typed_record import check_record
from ...printable import counted
from ...reports.page import Section
from ...reports.page.tables import tables_section
from .comparison import Comparison, comparison_of
from .effects import Study, study_of, table
from .runs_page import left_out, sentences
from .verdicts import DIFFERENT, SAME


class Curves(TypedDict):
    """The losses of some steps, by column a list per seed, as ``Comparison.curves`` gives them."""

    steps: list[int]
    losses: dict[str, list[list[float]]]


def section(content: Any) -> Section:
    """Return the tab of what ``compare runs --json`` wrote. Raises as ``comparison_of`` for a record that is none."""
    found = comparison_of(content)
    return section_of(found, _curves(content) if content.get("curves") else {})


def losses_section(content: Any) -> Section:
    """Return the tab of curves alone, such as benchmarks/results/losses.json. Raises ValueError or KeyError for none."""
    curves, job = _curves(content), content["job"]
    seeds = {len(runs) for runs in curves["losses"].values()}
    return Section(
        kind="losses",
        title="Losses",
        sentence=f"The same training on {len(curves['losses'])} backends: {max(seeds)} seeds of {job['steps']} steps each.",
        facts={
            "Job": f"{job['name']}, {job['pairs']:,} pairs",
            "Versions": ", ".join(map(" ".join, content["versions"].items())),
        },
        data={"curves": curves},
    )


def _curves(content: Any) -> Curves:
    """Return the curves of a record. Raises ValueError for others than a loss, or null, for each step of each run."""
    curves = content["curves"]
    check_record(Curves, {**curves, "losses": {}} if isinstance(curves, dict) else curves, "curves", others=True)
    for column, runs in curves["losses"].items():
        if not runs or any(len(run) != len(curves["steps"]) for run in runs):
            raise ValueError(f"the curves of {column} must have a loss for each of {len(curves['steps'])} steps")
        if any(not isinstance(loss, float | int | None) for run in runs for loss in run):
            raise ValueError(f"the curves of {column} must hold numbers")
    return Curves(steps=curves["steps"], losses=curves["losses"])


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
