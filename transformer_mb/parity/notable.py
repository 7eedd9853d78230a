"""Results that a report names: the nearest to their limits, the widest limits, and columns alike to the bit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from ..built_in import PLAIN_DTYPES
from ..printable import counted, table_cell
from .cells import EXPECTED, Result
from .ladder import LADDER
from .outcome import is_own


def closest(results: Iterable[Result]) -> list[Result]:
    """Return per backend, row and dtype the measured result that takes most of its limit, the nearest first."""
    nearest: dict[tuple[str, str, str], Result] = {}
    for result in results:
        key = result.backend, result.row, result.dtype
        if result.share is not None and (key not in nearest or result.share > (nearest[key].share or 0.0)):
            nearest[key] = result
    return sorted(nearest.values(), key=lambda result: -(result.share or 0.0))


def as_json(result: Result) -> dict[str, Any]:
    """Describe a cell and how near it came: ``share`` is its error divided by its limit."""
    names = ("backend", "row", "dtype", "case", "error", "limit", "share", "reason")
    return {name: getattr(result, name) for name in names}


def sentence(results: Iterable[Result]) -> str:
    """The nearest of all in a line; empty where nothing was measured."""
    first = next(iter(closest(results)), None)
    if first is None or first.share is None:
        return ""
    where = f"{first.backend}, {first.cell.id}, at {first.share:.2g}"
    if first.share > 1.0:
        return f"Farthest beyond its limit: {where} times it: {first.reason}"
    return f"Closest to its limit: {where} of it: {first.reason}"


LACKED = re.compile(r"The backend .+? lacks .+? \(.*\)(?=, got )")


def lacking(results: Iterable[Result]) -> list[str]:
    """Return a line for each switch that a backend declares it lacks, with the number of cells that need it."""
    found = [match[0] for one in results if one.status == EXPECTED and (match := LACKED.search(one.reason))]
    return [f"{words}: {counted(count, 'cell')}" for words, count in Counter(found).items()]


SHOWN = 3  # rows of each format
LONGEST = 100  # characters of a row and a case: a drawn one names all its settings


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
        what = shorten(f"{result['row']}: {result['case']}", LONGEST, placeholder=" ...")
        lines.append(f"| {name} | {result['limit_by_norm']:.1e} | {table_cell(what)} |")
    return lines


FEWEST = 10  # cells: of fewer, all may be zero by chance
SHARE = 0.5  # of the whole matrix PyTorch, TensorFlow, Paddle, MXNet and JAX have a sixth, in sums of few or equal numbers


def sentences(results: Iterable[Result]) -> list[str]:
    """Return a sentence for each column, but NumPy's own, that has the same bits as the reference in most float64 cells."""
    errors: dict[str, list[float]] = {}
    for result in results:
        measured = result.error is not None and LADDER[result.row].measured != "bits"
        if measured and result.dtype == "float64" and not is_own(result.backend):
            errors.setdefault(result.backend, []).append(result.error or 0.0)
    return [
        f"{backend}: answers equal the reference's to the bit in {own.count(0.0):,} of {len(own):,} cells of float64, "
        f"as they do of NumPy under another name."
        for backend, own in errors.items()
        if len(own) >= FEWEST and own.count(0.0) > SHARE * len(own)
    ]
