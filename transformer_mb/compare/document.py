"""docs/BEHAVIOURS.md: every measured fact, by topic, from the JSON of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .facts import Fact, Probe
from .probes import TOPICS, every_probe, probes
from .surprises import SURPRISES
from .words import by_probe, by_value

HEAD = """# What frameworks do by default

Measured by `transformer-mb compare behaviours`: each probe asks every framework's own built-ins, with the defaults that they
come with. Keras stands under tensorflow, Flax and Optax under jax. Versions: {versions}.
"""


# Those of the README: what moves a model that is ported, or trained anew, without a word.
BITE = (
    *("layer norm epsilon", "gelu function", "boolean mask of the attention layer", "attention layer without any key"),
    *("what shares a mask of attention dropout", "attention dropout of a function in evaluation", "Adam epsilon place"),
    *("Adam weight decay", "AdamW weight decay", "clipping by norm", "cross-entropy mean with 4 of 4 ignored", "relu of NaN"),
)


def short_table(facts: Sequence[Fact]) -> str:
    """A line for each probe of ``BITE``."""
    found = by_probe([fact for fact in facts if fact.value is not None])
    rows = []
    for name in BITE:
        rows.append(f"| {name} | {_answers(found[name])} |")
    return "\n".join(["| what | who does it how |", "| --- | --- |", *rows]) + "\n"


def _answers(facts: Sequence[Fact]) -> str:
    return "; ".join(f"{_cell(value)}: {', '.join(frameworks)}" for value, frameworks in by_value(facts).items())


def document(facts: Sequence[Fact]) -> str:
    found = by_probe(facts)
    versions = "; ".join(dict.fromkeys(f"{fact.framework} {fact.version}" for fact in facts))
    parts = [HEAD.format(versions=versions), *_surprises(found)]
    for topic in TOPICS:
        listed = [probe for probe in probes(topic) if probe.name in found]
        if listed:
            parts.append(f"## {topic.replace('_', ' ').capitalize()}\n")
            parts += [_section(probe, found[probe.name]) for probe in listed]
    return "\n".join(parts)


def _surprises(found: Mapping[str, Sequence[Fact]]) -> list[str]:
    """Those of ``SURPRISES`` that were measured; none for a run of other probes."""
    rows = []
    for number, name in enumerate((name for name in SURPRISES if name in found), 1):
        sources = ", ".join(every_probe()[name][1].sources)
        rows.append(f"| {number} | {name} | {_answers(found[name])} | {_cell(SURPRISES[name])} | {sources} |")
    heading = ["## Facts that surprise\n", "| | fact | who does it how | why it surprises | sources |"]
    return ["\n".join([*heading, "| --- | --- | --- | --- | --- |", *rows, ""])] if rows else []


def _section(probe: Probe, facts: Sequence[Fact]) -> str:
    rows = [f"| {_cell(value)} | {', '.join(frameworks)} |" for value, frameworks in by_value(facts).items()]
    reasons = dict.fromkeys(fact.reason for fact in facts if fact.value is None)
    lines = [
        f"### {probe.name.capitalize()}\n",
        f"{probe.question}\n",
        *("| answer | of |", "| --- | --- |", *rows, ""),
        f"{probe.meaning} To have it otherwise: {probe.setting[:1].lower()}{probe.setting[1:]}\n",
    ]
    if reasons:
        lines.append(f"None: {' '.join(reasons)}\n")
    if probe.sources:
        lines.append(f"Sources: {', '.join(probe.sources)}.\n")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
