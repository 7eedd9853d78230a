"""A table of text, as Markdown and on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, ...]
WIDEST = 100  # columns, where the terminal is wider or its width is unknown
WIDEST_MATRIX = 160  # where it is no terminal


@dataclass(frozen=True)
class Table:
    """Rows of as many cells as the head; an empty row separates groups on the screen.

    Attributes:
        title: stands above it; empty for none. numbers: the columns that are set to the right.
    """

    head: Row
    rows: Sequence[Row]
    title: str = ""
    numbers: tuple[int, ...] = ()

    def markdown(self) -> str:
        """Lines, each with its end."""
        rule = tuple("---:" if i in self.numbers else "---" for i in range(len(self.head)))
        return "".join(f"| {' | '.join(map(escaped, row))} |\n" for row in (self.head, rule, *self.rows))

    def show(self) -> None:
        """Print it, as wide as ``table_console``; what is longer than its column goes on in the next line."""
        from rich import box
        from rich.table import Table as Screen

        console = table_console()
        padding = 0 if console.width < WIDEST else 1  # between columns, beside a space
        shown = Screen(box=box.SIMPLE_HEAD, title=self.title or None, title_justify="left", padding=(0, padding, 0, 0))
        for number, head in enumerate(self.head):
            shown.add_column(head, justify="right" if number in self.numbers else "left", overflow="fold")
        for row in self.rows:
            if row:
                shown.add_row(*row)
            else:
                shown.add_section()
        console.print(shown)


def escaped(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


def bullets(lines: Iterable[str]) -> str:
    """Return a Markdown list, each item with its end."""
    return "".join(f"- {line}\n" for line in lines)


def table_console() -> Console:
    """Return a console as wide as the terminal, as rich finds it, and no wider than can be read; text is no markup."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


def matrix_console() -> Console:
    """Return a console as wide as the terminal; in a file, wide enough for the columns of six backends. Text is no markup."""
    from rich.console import Console

    return Console(markup=False, width=None if Console().is_terminal else WIDEST_MATRIX)
