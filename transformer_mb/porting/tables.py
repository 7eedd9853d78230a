"""The README's tables of formats, families and settings, made from the tables that the code reads."""

from __future__ import annotations

from collections.abc import Sequence

from .exports import EXPORTS
from .families import DEFAULT, FAMILIES
from .formats import FORMATS
from .settings import EXTRA

BEGIN, END = "<!-- formats: made from transformer_mb/porting -->\n", "<!-- end -->"


def formats_table() -> str:
    """What ``--to`` and ``--from`` may name."""
    rows = [("`canonical`", "the checkpoint folder above", "yes", "yes", "yes")]
    for row in FORMATS.values():
        rows.append((f"`{row.name}`", row.title, "yes", _yes(row.writable), _yes(row.optimizer)))
    for family in FAMILIES.values():
        if family.name not in ("canonical", DEFAULT.name):
            rows.append((f"`{family.name}`", family.title, "yes", "yes", _yes(family.kind == "tensors")))
    rows += [(f"`{export.name}`", export.title, "no", "yes", "no") for export in EXPORTS.values()]
    return _table(("name", "what", "read", "written", "Adam's state"), rows)


def settings_table() -> str:
    """What ``--config`` may hold beside the fields of a TransformerConfig."""
    return _table(("setting", "what it says"), [(f"`{name}`", meaning) for name, meaning in EXTRA.items()])


def readme_part() -> str:
    return f"{BEGIN}{formats_table()}\n{settings_table()}{END}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    print(readme_part())
