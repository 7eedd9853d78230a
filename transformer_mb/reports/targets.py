"""Verdicts on timed rows: the figure that a target is about, its interval, and what both allow to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..printable import counted

MET, MISSED, UNDECIDED = "met", "missed", "undecided"
VERDICTS = (MET, MISSED, UNDECIDED)


class Reached(NamedTuple):
    """A median over rounds, and the interval that it lies in."""

    median: float
    low: float
    high: float


def reached(row: Mapping[str, Any]) -> Reached:
    """Return what a row's target is about: a ratio, tokens per second, or a share of the rate of products.

    A record from before there were intervals has the lowest and the highest round instead, between which the median of
    what was drawn lies more surely still: with 94 % for five rounds, with 99.9 % for eleven.
    """
    measured = row["ours_measured"]
    kind = "tokens_per_s" if row.get("of") in ("tokens/s", "products") else "ratio"
    found = Reached(measured[kind][0], *interval(measured, kind))
    if row.get("of") != "products":
        return found
    scale = row["share"] / found.median
    return Reached(*(figure * scale for figure in found))


def interval(measured: Mapping[str, Any], kind: str) -> Sequence[float]:
    """Return the two ends that belong to ``tokens_per_s`` or ``ratio`` of one side."""
    ends: Sequence[float] = measured["intervals"][kind] if "intervals" in measured else measured[kind][1:]
    return ends


def verdict(row: Mapping[str, Any]) -> str | None:
    """Return one of VERDICTS, or None for a row without a target or without figures.

    An interval with the target inside it leaves open on which side of it the machine is, and so does one of rounds during
    which something else used the processors: that slows one side more than the other.
    """
    if "target" not in row or "failed" in row or (row.get("of") == "products" and row.get("share") is None):
        return None
    if row.get("disturbance", {}).get("kept_disturbed"):
        return UNDECIDED
    found = reached(row)
    if found.low >= row["target"]:
        return MET
    return MISSED if found.high < row["target"] else UNDECIDED


def verdicts_in_words(found: Sequence[str | None]) -> str:
    """Count verdicts: ``35 targets: 12 met, 14 missed, 9 undecided``."""
    judged = [one for one in found if one is not None]
    met, missed, undecided = map(judged.count, VERDICTS)
    return f"{counted(len(judged), 'target')}: {met} met, {missed} missed, {undecided} undecided"
