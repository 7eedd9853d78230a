"""Text for people: counts with their nouns, and only characters that a terminal can show."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """Control characters, line ends, lone surrogates and what else no font has as escapes (``\\x1b``); all else as it is."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def table_cell(text: str) -> str:
    """Return printable text for a cell of a Markdown table, where a bar and a tag mean something."""
    shown = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return shown.replace("|", "\\|")


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """``1 pair``, ``2,000 pairs``; ``plural`` where it is not the singular with an s."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return names with commas, of many the first: ``a, b and 3 more``."""
    rest = len(names) - most
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:most])} and {rest} more"


def skipped_lines(number: int) -> str:
    """``1 line with a blank side was skipped``."""
    return counted(number, "line with a blank side was skipped", "lines with a blank side were skipped")
