"""docs/BEHAVIOURS.md: every measured fact, by topic, from the JSON of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from ..reports.table import Table, bullets, escaped
from .facts import Fact, Probe
from .probes import PROBES
from .surprises import SURPRISES
from .words import NONE, by_probe, by_value

HEAD = """# What frameworks do by default

`transformer-mb compare behaviours` asks every framework's own layers and functions, with their defaults, the questions below
(*probes*). Keras stands under tensorflow, Flax and Optax under jax; *has none* means that the framework has no such layer or
function. Versions: {versions}.
"""


def _answers(facts: Sequence[Fact]) -> str:
    return "; ".join(f"{value}: {', '.join(frameworks)}" for value, frameworks in by_value(facts).items())


def document(facts: Sequence[Fact]) -> str:
    found = by_probe(facts)
    versions = "; ".join(dict.fromkeys(f"{fact.framework} {fact.version}" for fact in facts))
    parts = [HEAD.format(versions=versions), *_surprises(found)]
    parts += _index(found)
    for topic, listed in groupby((probe for probe in PROBES.values() if probe.name in found), lambda probe: probe.topic):
        probes = list(listed)
        shared = _shared_reasons([found[probe.name] for probe in probes])
        parts.append(f"## {topic.replace('_', ' ').capitalize()}\n")
        parts += [f"{' '.join(shared)}\n"] if shared else []
        parts += [_section(probe, found[probe.name], shared) for probe in probes]
    return "\n".join(parts)


def _index(found: Mapping[str, Sequence[Fact]]) -> list[str]:
    """List, by framework, a link to each fact in which it answers alone while others agree."""
    alone: dict[str, list[str]] = {}
    for name, facts in found.items():
        answers = [frameworks for value, frameworks in by_value(facts).items() if value != NONE]
        if any(len(frameworks) > 1 for frameworks in answers):
            for (framework,) in (frameworks for frameworks in answers if len(frameworks) == 1):
                alone.setdefault(framework, []).append(f"[{name}](#{_anchor(name)})")
    rows = [f"**{framework}**: {', '.join(links)}." for framework, links in sorted(alone.items())]
    return [f"## Where one framework differs from the others\n\n{bullets(rows)}"] if rows else []


def _anchor(heading: str) -> str:
    """Return the fragment under which GitHub shows a heading."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _shared_reasons(facts: Sequence[Sequence[Fact]]) -> list[str]:
    """Return the reasons that at least three probes of a topic share, which the topic gives once."""
    counts = Counter(reason for one in facts for reason in dict.fromkeys(fact.reason for fact in one if fact.value is None))
    return [reason for reason, count in counts.items() if count >= 3]


def _surprises(found: Mapping[str, Sequence[Fact]]) -> list[str]:
    """List the measured ones of ``SURPRISES``; an empty list where none was measured."""
    rows = []
    for number, name in enumerate((name for name in SURPRISES if name in found), 1):
        cells = (name, _answers(found[name]), SURPRISES[name], ", ".join(PROBES[name].sources))
        rows.append(f"| {number} | {' | '.join(map(escaped, cells))} |")
    heading = ["## Facts that surprise\n", "| | fact | who does it how | why it surprises | sources |"]
    return ["\n".join([*heading, "| --- | --- | --- | --- | --- |", *rows, ""])] if rows else []


def _section(probe: Probe, facts: Sequence[Fact], said: Sequence[str]) -> str:
    answers = Table(("answer", "of"), [(value, ", ".join(frameworks)) for value, frameworks in by_value(facts).items()])
    reasons = dict.fromkeys(fact.reason for fact in facts if fact.value is None and fact.reason not in said)
    lines = [
        f"### {probe.name.capitalize()}\n",
        f"{probe.question}\n",
        answers.markdown(),
        f"{probe.meaning} To have it otherwise: {probe.setting[:1].lower()}{probe.setting[1:]}\n",
    ]
    if reasons:
        lines.append(f"{' '.join(reasons)}\n")
    if probe.sources:
        lines.append(f"Sources: {', '.join(probe.sources)}.\n")
    return "\n".join(lines)
