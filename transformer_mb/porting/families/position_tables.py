"""Tables of positions that a file holds beside its weights: compared with the sinusoids of this project, never believed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...config import LONGEST_TABLE
from ...errors import PortError
from ...positions import sinusoid_table
from ..model import Arrays
from .stack_layout import flat_table

NAMED = re.compile(r"(^|[._/])(w?pe|pos|posit\w*|pos_\w*)([._/]|$)", re.IGNORECASE)
LAYOUTS = ("interleaved", "halves")
# Of an angle computed in float32 from a rate that is itself a power: this many units a position (measured: up to 0.7).
UNITS = 4


@dataclass(frozen=True, kw_only=True)
class PositionTables:
    """``names`` of the tensors that are the sinusoids; ``table`` [rows, D], the first of them; ``fields`` of the configuration
    that they show; a sentence each."""

    names: tuple[str, ...] = ()
    table: np.ndarray | None = None
    fields: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def position_tables(tensors: Arrays, width: int, settings: Mapping[str, Any], hint: str) -> PositionTables:
    """Find tables of positions in tensors that are no part of the model's layers; ``hint`` says how learned ones are named.

    Raises PortError for a table of positions that no configuration here computes, or for two that differ.
    """
    offset = settings.get("position_offset", 0)
    found: dict[str, dict[str, Any]] = {}
    first_table: np.ndarray | None = None
    for name, array in tensors.items():
        table = _by_position(flat_table(array), width)
        if array.dtype.kind != "f" or table.ndim != 2 or table.shape[1] != width or width % 2 or len(table) < 2:
            continue
        fields = _fields(table, offset if isinstance(offset, int) else 0)
        if fields is None and (array.ndim > 2 or NAMED.search(name)):
            raise PortError(
                f"{name} {list(array.shape)} holds positions, but neither of the tables that position = sinusoidal computes "
                f"(sinusoid_layout {' or '.join(LAYOUTS)}): {hint}"
            )
        if fields is not None:
            found[name] = fields
            first_table = table if first_table is None else first_table
    if not found:
        return PositionTables()
    first = next(iter(found.values()))
    rows, wanted = min(fields["max_len"] for fields in found.values()), settings.get("max_len")
    # The settings may say fewer positions than the table has.
    shown = {**first, "max_len": wanted if isinstance(wanted, int) and wanted < rows else rows}
    for name, fields in found.items():
        if {**fields, "max_len": 0} != {**first, "max_len": 0}:
            raise PortError(
                f"Both sides must have the same sinusoids, but {next(iter(found))} holds {first} and {name} {fields}."
            )
    layout = shown["sinusoid_layout"]
    note = f"{', '.join(found):.200}: the table of sinusoids ({layout}), which is computed here and not stored."
    return PositionTables(names=tuple(found), table=first_table, fields=shown, notes=(note,))


def check_ignored(ignored: Arrays, named: Arrays, width: int, settings: Mapping[str, Any]) -> None:
    """Refuse a matrix [n, D] under ``ignore`` that may be learned positions, for which nothing here would compute the same.

    ``named``: what else the file holds. As many rows as one of its tables are a vocabulary's, and a bias of as many numbers is
    beside a projection; ``position`` or a named table in the settings say where positions come from.
    """
    if any(name in settings for name in ("position", "source_positions", "target_positions")):
        return
    rows = {flat.shape[0] for flat in map(flat_table, named.values()) if flat.ndim == 2 and flat.shape[1] == width}
    for name, array in ignored.items():
        table = _by_position(flat_table(array), width)
        bias = ignored.get(f"{name.removesuffix('weight')}bias")
        projects = bias is not None and bias.shape in ((len(table),), (array.shape[-1],))
        if array.dtype.kind == "f" and table.ndim == 2 and table.shape[1] == width and len(table) not in rows and not projects:
            raise PortError(
                f"ignore must leave out no positions, but {name} {list(array.shape)} may be a table of them: name it with "
                'source_positions or target_positions in the settings, or say "position": "sinusoidal" if it is none and the '
                "model adds the usual sinusoids."
            )


def _by_position(table: np.ndarray, width: int) -> np.ndarray:
    """[rows, D], also of a table that lies [D, rows]."""
    return table.T if table.ndim == 2 and table.shape[0] == width != table.shape[1] else table


def _fields(table: np.ndarray, offset: int) -> dict[str, Any] | None:
    """Return the fields that a table [n, D] shows, None where it is no sinusoids; rows may begin at position 0 or 1."""
    rows, width = table.shape
    if rows + 1 > LONGEST_TABLE:
        return None
    # A table rounded to two bytes is another one: its owner's model adds the rounded numbers.
    limit = UNITS * np.finfo(np.float32).eps * (1 + np.arange(rows + 1)[:, None])
    for layout in LAYOUTS:
        expected = sinusoid_table(rows + 1, width, layout)
        for start in (0, 1):
            if np.all(np.abs(table - expected[start : start + rows]) <= limit[start : start + rows]):
                # A table that begins at 0 is read from position_offset on.
                found = {"position": "sinusoidal", "sinusoid_layout": layout, "max_len": rows if start else rows - offset}
                return {**found, "position_offset": 1} if start else found
    return None


def causal_masks(tensors: Arrays) -> list[str]:
    """The names of what holds one value above its diagonal and another one elsewhere, whatever these are, or its transpose."""
    return [name for name, array in tensors.items() if _is_causal(flat_table(array))]


def _is_causal(array: np.ndarray) -> bool:
    steps = len(array) if array.ndim else 0
    if array.ndim != 2 or array.shape != (steps, steps) or steps < 2:
        return False
    return any(_is_stepped(one, np.tri(steps, dtype=bool)) for one in (array, array.T))


def _is_stepped(array: np.ndarray, past: np.ndarray) -> bool:
    seen, unseen = array[0, 0], array[0, -1]
    return bool(seen != unseen and np.all(array[past] == seen) and np.all(array[~past] == unseen))
