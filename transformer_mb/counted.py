"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """``1 pair``, ``2,000 pairs``; ``plural`` where it is not the singular with an s."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def skipped_lines(number: int) -> str:
    """``1 line with a blank side was skipped``."""
    return counted(number, "line with a blank side was skipped", "lines with a blank side were skipped")
