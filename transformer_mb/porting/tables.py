"""The tables of docs/PORTING.md: formats, families and settings, made from those that the code reads."""

from __future__ import annotations

from collections.abc import Sequence

from .files.targets import FOLDERS, NAMED
from .formats import FORMATS
from .kinds import Family, Format, never
from .settings import EXTRA

BEGIN, END = "<!-- {}: made from transformer_mb/porting -->\n", "<!-- end -->\n"


def formats_table() -> str:
    """List what ``--to`` and ``--from`` may name; the checkpoint, which holds all of a model, comes first."""
    whole = [row for row in FOLDERS.values() if row.records]
    listed: list[Family | Format] = [*whole, *FORMATS.values(), *(row for row in NAMED.values() if row not in whole)]
    rows = []
    for row in listed:
        title = getattr(row, "described", "") or row.title
        rows.append((f"`{row.name}`", title, _yes(row.read is not never), _into(row), _yes(row.optimizer)))
    return _table(("name", "what", "read", "written for", "Adam's state"), rows)


def _into(row: Family | Format) -> str:
    """Leave out what all of our own begin with."""
    return row.into.replace("transformer_mb.backends.", "").replace(".EncoderDecoder", ": our `EncoderDecoder`") or "no"


def settings_table() -> str:
    """Write the settings that ``--config`` may hold beside the fields of a TransformerConfig."""
    return _table(("setting", "what it says"), [(f"`{name}`", meaning) for name, meaning in EXTRA.items()])


def formats_part() -> str:
    return f"{BEGIN.format('formats')}{formats_table()}{END}"


def settings_part() -> str:
    return f"{BEGIN.format('settings')}{settings_table()}{END}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(formats_part())
    print(settings_part())
