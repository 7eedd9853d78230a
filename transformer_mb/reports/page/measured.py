"""Speed against its targets and the cost of a token, as tabs of the report: what ``benchmarks/`` writes as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ...files.typed_record import check_record
from ...printable import counted
from ..targets import interval, verdict, verdicts_in_words
from .section import Section


class Row(TypedDict):
    """The fields that are read of a row of ``benchmarks/bench.py``; it holds more."""

    title: str
    ours: str
    peer: str


class Side(TypedDict):
    """The figures of one side: the median over the rounds, then the lowest and the highest."""

    tokens_per_s: list[float]
    ratio: list[float]
    memory_MiB: float


class Point(TypedDict):
    """The fields that are read of a point of ``benchmarks/curves.py``: the common point, moved along one axis."""

    backend: str
    work: str
    axis: str | None
    value: int | None
    seconds: float
    tokens: int


def speed_section(content: Mapping[str, Any]) -> Section:
    """Return the tab of ours beside other implementations. Raises ValueError for a record that is none."""
    rows = []
    for number, row in enumerate(content["rows"], 1):
        check_record(Row, row, f"row {number}", others=True)
        if "failed" not in row:
            for side in ("ours_measured", "peer_measured"):
                check_record(Side, row.get(side), f"{side} of row {number}", others=True)
        rows.append({**row, "verdict": verdict(row)} | ({} if "failed" in row else {"shown": _shown(row)}))
    judged = [row["verdict"] for row in rows if row["verdict"] is not None]
    return Section(
        kind="speed",
        title="Speed",
        sentence=f"{verdicts_in_words(judged)}; {counted(len(rows), 'comparison')}.",
        facts=_machine(content),
        data={"rows": rows},
    )


def _shown(row: Mapping[str, Any]) -> list[float]:
    """Return the ratio of a row with both ends of its interval."""
    measured = row["ours_measured"]
    return [measured["ratio"][0], *interval(measured, "ratio")]


def costs_section(content: Mapping[str, Any]) -> Section:
    """Return the tab of what a token costs each backend. Raises ValueError for a record that is none."""
    for number, point in enumerate(content["results"], 1):
        if "failed" not in point:
            check_record(Point, point, f"point {number}", others=True)
    points = [{name: point[name] for name in Point.__annotations__} for point in content["results"] if "failed" not in point]
    axes = dict.fromkeys(point["axis"] for point in points if point["axis"])
    return Section(
        kind="costs",
        title="Costs",
        sentence=f"What a token costs each backend, along {', '.join(axes)}.",
        facts=_machine(content),
        data={"points": points, "common": content.get("point", {})},
    )


def _machine(content: Mapping[str, Any]) -> dict[str, str]:
    known = content.get("machine")
    machine = known if isinstance(known, dict) else {}
    facts = {
        "Processor": machine.get("processor"),
        "Processors": machine.get("processors"),
        "Float32 products, GFLOP/s": machine.get("float32_GFLOP_per_s"),
        "Memory, GB/s": machine.get("memory_GB_per_s"),
        "Python": machine.get("python"),
    }
    return {label: str(value) for label, value in facts.items() if value is not None}
