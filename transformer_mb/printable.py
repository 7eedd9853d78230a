"""Text from files, frameworks and other processes, as it may be shown: it must not move a cursor, nor break a document."""

from __future__ import annotations


def printable(text: str) -> str:
    """Control characters, line ends, lone surrogates and what else no font has as escapes (``\\x1b``); all else as it is."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def table_cell(text: str) -> str:
    """The same in a cell of a Markdown table, where a bar and a tag mean something."""
    shown = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return shown.replace("|", "\\|")
