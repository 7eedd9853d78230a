"""The defaults of frameworks as a tab of the report: the facts that move a training most come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from ..files.typed_record import check_record
from ..printable import counted
from ..reports.page import Section
from .facts import Fact
from .probes import PROBES
from .records import facts_of
from .surprises import SURPRISES
from .words import NONE, by_probe, by_value, value_text


class Moved(TypedDict):
    """The move of the loss by a swapped default, in units of the seeds' standard deviation."""

    mean: float
    low: float
    high: float


class Effect(TypedDict):
    """The fields that are read of a swap in what ``compare effects --json`` wrote; it holds more."""

    name: str
    probes: list[str]
    one: str
    other: str


def section(content: Any, effects: Any = None) -> Section:
    """Return the tab of what ``compare behaviours --json`` wrote, in the order of what ``compare effects --json`` did.

    Raises ValueError for a record that is none.
    """
    return section_of(facts_of(content), effects)


def section_of(facts: Sequence[Fact], effects: Any = None) -> Section:
    """Return the tab of measured facts; ``effects`` as in ``section``."""
    moved = {} if effects is None else _moved(effects)
    found = by_probe(facts)
    rows = [_row(name, some, moved.get(name, [])) for name, some in found.items()]
    rows.sort(key=lambda row: (-row["moves"], not row["surprise"], -row["answers"]))
    differing = sum(row["answers"] > 1 for row in rows)
    versions = dict.fromkeys(f"{fact.framework} {fact.version}" for fact in facts)
    return Section(
        kind="behaviours",
        title="Behaviours",
        sentence=f"In {differing:,} of {counted(len(rows), 'measured default')} the frameworks differ among themselves.",
        facts={"Versions": "; ".join(versions)},
        data={"frameworks": list(dict.fromkeys(fact.framework for fact in facts)), "rows": rows},
    )


def _row(name: str, facts: Sequence[Fact], effects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    probe = PROBES.get(name)
    values = by_value(facts)
    return {
        "name": name,
        "topic": probe.topic.replace("_", " ") if probe else "",
        "question": probe.question if probe else "",
        "meaning": probe.meaning if probe else "",
        "setting": probe.setting if probe else "",
        "sources": list(probe.sources) if probe else [],
        "surprise": SURPRISES.get(name, ""),
        "values": {fact.framework: value_text(fact.value) for fact in facts},
        "reasons": {fact.framework: fact.reason for fact in facts if fact.reason},
        "answers": sum(value != NONE for value in values),
        "moves": float(np.max([-1.0, *(abs(one["moved"]["mean"]) for one in effects)])),
        "effects": list(effects),
    }


def _moved(effects: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the measured swaps of each probe."""
    if not isinstance(effects, dict) or not isinstance(effects.get("effects"), list):
        raise ValueError("the file must be an object with a list of effects")
    found: dict[str, list[dict[str, Any]]] = {}
    for number, one in enumerate(effects["effects"], 1):
        check_record(Effect, one, f"effect {number}", others=True)
        check_record(Moved, one.get("loss moved"), f"loss moved of effect {number}", others=True)
        row = {name: one[name] for name in ("name", "one", "other")}
        row["moved"] = {name: one["loss moved"][name] for name in ("mean", "low", "high")}
        for probe in one["probes"]:
            found.setdefault(probe, []).append(row)
    return found
