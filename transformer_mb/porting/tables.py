"""The tables of docs/PORTING.md: formats, families and settings, made from those that the code reads."""

from __future__ import annotations

from collections.abc import Sequence

from .exports import EXPORTS
from .families import DEFAULT, FAMILIES
from .formats import FORMATS
from .loading import EXPORT_ROWS, ROWS
from .settings import EXTRA

BEGIN, END = "<!-- {}: made from transformer_mb/porting -->\n", "<!-- end -->\n"


def formats_table() -> str:
    """What ``--to`` and ``--from`` may name."""
    rows = [("`canonical`", "the checkpoint folder above", "yes", _into("canonical"), "yes")]
    for row in FORMATS.values():
        rows.append((f"`{row.name}`", row.title, "yes", _into(row.name) if row.writable else "no", _yes(row.optimizer)))
    for family in FAMILIES.values():
        if family.name not in ("canonical", DEFAULT.name):
            into = _into(family.name) if family.name in ROWS else "that class, its embeddings and output beside it"
            rows.append((f"`{family.name}`", family.title, "yes", into, _yes(family.kind == "tensors")))
    rows += [
        (f"`{name}`", EXPORTS[name].title, "no", EXPORT_ROWS[name, architecture].into, "no")
        for name, architecture in EXPORT_ROWS
        if architecture == "encoder_decoder"
    ]
    return _table(("name", "what", "read", "written for", "Adam's state"), rows)


def _into(name: str) -> str:
    """Without what all of our own begin with."""
    return ROWS[name].into.replace("transformer_mb.backends.", "").replace(".EncoderDecoder", ": our `EncoderDecoder`")


def settings_table() -> str:
    """What ``--config`` may hold beside the fields of a TransformerConfig."""
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
