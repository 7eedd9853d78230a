"""The limits of a run that say least: the largest by norm, where 1 would let pass an answer of zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..built_in import PLAIN_DTYPES
from ..printable import table_cell

SHOWN = 3  # rows of each format


def widest(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return per format but float64 the cell with the largest limit in the rows that have the largest, largest first."""
    largest: dict[str, dict[str, Mapping[str, Any]]] = {}
    for result in results:
        # Earlier runs have not kept it.
        if result["dtype"] != "float64" and result.get("limit_by_norm") is not None:
            rows = largest.setdefault(_format(result), {})
            known = rows.get(result["row"])
            if known is None or known["limit_by_norm"] < result["limit_by_norm"]:
                rows[result["row"]] = result
    return [
        (name, result)
        for name, rows in largest.items()
        for result in sorted(rows.values(), key=lambda one: -one["limit_by_norm"])[:SHOWN]
    ]


def _format(result: Mapping[str, Any]) -> str:
    """Rows of what is fast are asked for in float32, and held to what fewer bits lose."""
    fast = result["row"].startswith("fast") and result["dtype"] in PLAIN_DTYPES
    return f"{result['dtype']}, fast" if fast else result["dtype"]


def as_markdown(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of a table; none where no result has such a limit."""
    found = widest(results)
    lines = ["The widest limits by norm:", "", "| dtype | limit | row and case |", "|---|---|---|"] if found else []
    for name, result in found:
        lines.append(f"| {name} | {result['limit_by_norm']:.1e} | {table_cell(result['row'] + ': ' + result['case'])} |")
    return lines
