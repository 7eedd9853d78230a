"""Versions of a framework as tabs of the report: what differs between them, and all that their built-ins do."""

from __future__ import annotations

from typing import Any

from ...reports.page import Section
from ...reports.page.tables import tables_section
from ..report_page import section_of
from .measuring import Versions, versions_of
from .page import summary, table


def sections(content: Any) -> list[Section]:
    """Return the tabs of what ``compare versions --json`` wrote. Raises as ``versions_of`` for a record that is none."""
    return sections_of(versions_of(content))


def sections_of(comparison: Versions) -> list[Section]:
    """Return a tab with what differs and one with every fact."""
    installed = {one.label: ", ".join(map(" ".join, one.packages.items())) for one in comparison.versions}
    return [
        tables_section("Versions", f"{summary(comparison)}.", [table(comparison)], installed),
        section_of(comparison.facts),
    ]
