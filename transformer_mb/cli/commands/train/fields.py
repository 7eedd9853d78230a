"""Fields that stand in a file alone, asked for as an option."""

from __future__ import annotations

from collections.abc import Iterable

from ....training_options import DECODING, MODEL, TRAINING
from ...arguments import Command

TABLES: dict[str, Iterable[str]] = {"[model]": MODEL, "[training]": TRAINING, "[decoding]": DECODING}


class TrainCommand(Command):
    """Tells where a field is said that has no option."""

    def said_elsewhere(self, name: str) -> str:
        for table, fields in TABLES.items():
            if name in fields:
                words = "--print-config writes such a file"
                return f"{name} is a field of a file: {table} in CONFIG.toml, which is the first argument ({words})."
        return ""
