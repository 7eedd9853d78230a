"""A comparison in a file: what --json wrote, without the single runs' losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..records import read_record
from .attribution import Effect
from .comparison import Comparison, Cost
from .verdicts import Line

DERIVED = ("verdicts", "named", "runs")


def read_comparison(path: Path) -> Comparison:
    """With no ``runs``, whose losses are not in the file."""
    return read_record(path, "runs", lambda content: Comparison(**_fields(content)))


def _fields(content: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in content.items() if name not in DERIVED}
    rows = {"lines": Line, "costs": Cost, "effects": Effect}
    made = {name: tuple(kind(**_numbers(row)) for row in content[name]) for name, kind in rows.items()}
    return {**fields, **made, "seeds": tuple(content["seeds"]), "runs": ()}


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A mean that was no number is null in JSON."""
    return {
        name: float("nan") if value is None and name in ("mean", "reference_mean") else value for name, value in row.items()
    }
