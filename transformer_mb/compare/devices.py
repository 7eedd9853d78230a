"""The facts that differ between two devices, measured as two columns of one framework in one version."""

from __future__ import annotations

from collections.abc import Sequence

from ..printable import counted
from .expectations import differs
from .facts import Fact
from .words import by_probe, value_text

HEAD = """# What frameworks do otherwise on a GPU

`transformer-mb compare behaviours --device` asked each framework the same questions on a processor and on a GPU;
[BEHAVIOURS.md](BEHAVIOURS.md) has the question behind each name. After an index out of range a process can do nothing more on
the GPU.
"""


def differing(facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """Return, by framework, each fact of its first column with a different fact of another column."""
    pairs = []
    for found in by_probe(facts).values():
        first: dict[str, Fact] = {}
        for fact in found:
            known = first.setdefault(fact.framework.partition("@")[0], fact)
            if differs([known, fact]):
                pairs.append((known, fact))
    return sorted(pairs, key=lambda pair: pair[0].framework)


def page(facts: Sequence[Fact]) -> str:
    """Return docs/BEHAVIOURS_ON_GPU.md."""
    rows = [
        f"| {one.probe} | {one.framework.partition('@')[0]} | {value_text(one.value)} | {value_text(other.value)} |"
        for one, other in differing(facts)
    ]
    measured = sum(fact.value is not None for fact in facts)
    versions = "; ".join(dict.fromkeys(f"{fact.framework} {fact.version}" for fact in facts))
    counts = f"{counted(len(rows), 'answer')} of {counted(measured, 'fact')} differ. Versions: {versions}.\n"
    return "\n".join([HEAD, counts, "| fact | framework | on a processor | on the GPU |", "|---|---|---|---|", *rows, ""])
