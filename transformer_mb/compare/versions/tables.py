"""A comparison as rows of words: what differs first, then speed and cells."""

from __future__ import annotations

from collections.abc import Sequence

from ...counted import counted
from ...parity.cells import PASSED
from ..facts import Fact
from ..words import value_text
from .measuring import Comparison, Version
from .speed import FIGURES

Row = tuple[str, ...]


def heading(comparison: Comparison) -> Row:
    return ("", *(one.label for one in comparison.versions))


def packages(comparison: Comparison) -> list[Row]:
    """Those whose versions differ, and the interpreters."""
    names = dict.fromkeys(name for one in comparison.versions for name in one.packages)
    rows = [(name, *(one.packages.get(name, "none") for one in comparison.versions)) for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def behaviours(comparison: Comparison) -> list[Row]:
    """The facts that are not the same; probes with the same answers share a row."""
    labels = [one.label for one in comparison.versions]
    rows: dict[Row, list[str]] = {}
    for name, facts in comparison.different().items():
        by_label = {fact.framework: fact for fact in facts}
        rows.setdefault(tuple(_answer(by_label[label]) for label in labels), []).append(name)
    return [("; ".join(names), *answers) for answers, names in rows.items()]


def _answer(fact: Fact) -> str:
    text = value_text(fact.value)
    return f"{text}: {fact.reason}" if fact.reason and text.startswith("raises") else text


def speed(comparison: Comparison) -> list[Row]:
    """Empty where none was measured."""
    if not any(one.speed for one in comparison.versions):
        return []
    return [(f"{name}, ms", *(_milliseconds(one.speed.get(name, "none")) for one in comparison.versions)) for name in FIGURES]


def _milliseconds(figure: float | str) -> str:
    return figure if isinstance(figure, str) else f"{figure:.3g}"


def cells(comparison: Comparison) -> list[Row]:
    """Empty where none was asked for."""
    if not any(one.cells for one in comparison.versions):
        return []
    return [
        ("cells passed", *(_passed(one) for one in comparison.versions)),
        ("largest share of a limit", *("none" if one.closest is None else f"{one.closest:.2g}" for one in comparison.versions)),
        *([("first that failed", *(one.reason or "none" for one in comparison.versions))] if _any_failed(comparison) else []),
    ]


def _passed(one: Version) -> str:
    others = ", ".join(f"{count} {status}" for status, count in one.cells.items() if status != PASSED)
    passed = f"{one.cells.get(PASSED, 0)} of {sum(one.cells.values())}"
    return f"{passed}, {others}" if others else passed


def _any_failed(comparison: Comparison) -> bool:
    return any(one.reason for one in comparison.versions)


def summary(comparison: Comparison) -> str:
    different = len(comparison.different())
    columns: Sequence[str] = [one.label for one in comparison.versions]
    differ, same = counted(different, "differs", "differ"), counted(comparison.probes - different, "is", "are")
    return f"{counted(comparison.probes, 'probe')} of {', '.join(columns)}: {differ}, {same} the same"
