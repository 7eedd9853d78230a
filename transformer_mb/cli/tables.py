"""The screen that tables of several columns are drawn on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100  # columns, where the terminal is wider or nobody says how wide it is
WIDEST_MATRIX = 160  # where it is no terminal


def table_console() -> Console:
    """As wide as the terminal, as rich finds it, and no wider than can be read; no text is read as markup."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


def matrix_console() -> Console:
    """As wide as the terminal; in a file, wide enough for the columns of six backends. No text is read as markup."""
    from rich.console import Console

    return Console(markup=False, width=None if Console().is_terminal else WIDEST_MATRIX)
