"""The results that come nearest to their limits: what passes by little today fails on another processor tomorrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .cells import Result


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
