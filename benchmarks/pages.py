"""Writes what was measured into the pages: whatever stands between two comments of a name is made anew."""

from __future__ import annotations

from pathlib import Path


def fill(page: Path, name: str, text: str) -> None:
    """Raises ValueError where the page has not both comments."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    content = page.read_text(encoding="utf-8")
    before, found, rest = content.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{page.name} must have the comments {begin.strip()} and {end.strip()}.")
    page.write_text(before + begin + text + end + after, encoding="utf-8")
