"""Facts in words: which frameworks share a value, and how a value reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..printable import counted as number_of
from .expectations import Standing
from .facts import Fact, Value

NONE = "has none"


def value_text(value: Value | None) -> str:
    return NONE if value is None else value if isinstance(value, str) else f"{value:.6g}"


def by_value(facts: Iterable[Fact]) -> dict[str, list[str]]:
    """Return the frameworks with each value, the most frequent value first and those without the built-in last."""
    found: dict[str, list[str]] = {}
    for fact in facts:
        found.setdefault(value_text(fact.value), []).append(fact.framework)
    return dict(sorted(found.items(), key=lambda item: (item[0] == NONE, -len(item[1]))))


def by_probe(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.probe, []).append(fact)
    return found


def complaint(standing: Standing) -> str:
    """Say what has changed, with both values and both versions."""
    fact = standing.fact
    return (
        f"{standing.status.upper()} {fact.framework}, {fact.probe}: {value_text(standing.expected)} was measured with "
        f"{standing.version}, {fact.version} has {value_text(fact.value)}."
    )


def counted(standings: Sequence[Standing]) -> str:
    """Count the facts by status, in words."""
    statuses = [one.status for one in standings]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses)))
    probes = len({one.fact.probe for one in standings})
    return f"{number_of(probes, 'probe')}, {number_of(len(standings), 'fact')}: {counts}"
