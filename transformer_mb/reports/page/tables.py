"""Tables of a command as they are on the screen, as a tab of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..table import Table
from .section import Section


def tables_section(title: str, sentence: str, tables: Sequence[Table], facts: Mapping[str, str]) -> Section:
    """Return a tab with these tables, one below the other; rows that only separate groups are left out."""
    shown = [
        {"title": one.title, "head": one.head, "rows": [row for row in one.rows if row], "numbers": one.numbers}
        for one in tables
    ]
    return Section(kind="tables", title=title, sentence=sentence, data={"tables": shown}, facts=facts)
