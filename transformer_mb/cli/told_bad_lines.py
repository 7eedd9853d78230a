"""What is said of lines that are no proper text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .reporting import tell

if TYPE_CHECKING:
    from ..data import BadLines


def tell_bad_lines(found: BadLines) -> None:
    """A line for each kind, blank ones aside."""
    from ..data.bad_lines import described

    for line in described({**found.counts, "blank": 0}, found.action):
        tell(f"Note: {line}.")
