"""What each framework is expected to do, and how a measured fact stands to that.

``compare/expected/<framework>.json`` holds, by probe, ``{"value": ..., "since": VERSION}``: the value, null where the framework
has no such built-in, and the first version that it was measured with; ``past`` lists earlier values with ``until`` and
``source``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..counted import counted
from ..errors import ConfigError
from ..files.whole_file import write_whole
from .facts import Fact, Value, same
from .probes import every_probe

FOLDER = Path(__file__).with_name("expected")
STATUSES = {
    "as expected": "measured again, the same",
    "changed": "another value than the one that is expected",
    "new": "nothing is expected yet",
    "gone": "a value is expected, and the framework has no such built-in any more",
    "not measurable here": "the framework has no such built-in",
}
WRONG = ("changed", "gone")


@dataclass(frozen=True)
class Standing:
    """A fact beside what was expected; ``version`` is the one that the expected value was measured with."""

    fact: Fact
    status: str
    expected: Value | None = None
    version: str = ""

    @property
    def holds(self) -> bool:
        return self.status not in WRONG


Expected = Mapping[str, Mapping[str, Any]]


def expected(framework: str, folder: Path = FOLDER) -> Expected:
    """By probe what is expected of a framework; ``torch@old`` is expected to do what torch does."""
    path = folder / f"{framework.partition('@')[0]}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def earlier(facts: Iterable[Fact]) -> dict[str, dict[str, dict[str, Any]]]:
    """Facts of an earlier run as what is expected now, by framework and probe."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for fact in facts:
        table.setdefault(fact.framework, {})[fact.probe] = {"value": fact.value, "since": fact.version}
    return table


def check_shared(table: Mapping[str, Expected], frameworks: Sequence[str], probes: Sequence[str]) -> None:
    """Raises ConfigError where an earlier run has no fact to compare with: a comparison of nothing would find no change."""
    if not any(probe in table.get(framework, {}) for framework in frameworks for probe in probes):
        raise ConfigError(
            f"--against must hold a fact that is measured now, of {', '.join(frameworks)}, but it has none of these "
            f"{counted(len(probes), 'probe')}."
        )


def check_acceptable(places: Iterable[tuple[str, str]]) -> None:
    """Raises ConfigError unless columns, each with its device, are what is expected of: frameworks themselves, on a CPU."""
    if other := [f"{label} on {device}" for label, device in dict.fromkeys(places) if "@" in label or device != "cpu"]:
        raise ConfigError(
            f"--accept must measure frameworks by their own names and on the CPU, as all that is expected was, got "
            f"{', '.join(other)}. Leave it out, or give `--device cpu`."
        )


def standing(fact: Fact, row: Mapping[str, Any] | None) -> Standing:
    """The status of a fact; ``row`` is what is expected, None where nothing is."""
    value, version = (row["value"], row["since"]) if row else (None, "")
    if fact.value is None:
        status = "gone" if value is not None else "not measurable here"
    elif value is None:
        status = "new"
    else:
        kind = every_probe()[fact.probe][1].kind
        status = "as expected" if same(kind, fact.value, value) else "changed"
    return Standing(fact, status, value, version)


def standings(facts: Sequence[Fact], table: Mapping[str, Expected] | None = None, folder: Path = FOLDER) -> list[Standing]:
    """Every fact beside ``table``, by framework and probe, or beside what this package expects."""
    known: dict[str, Expected] = {}
    for fact in facts:
        if fact.framework not in known:
            known[fact.framework] = expected(fact.framework, folder) if table is None else table.get(fact.framework, {})
    return [standing(fact, known[fact.framework].get(fact.probe)) for fact in facts]


def accept(standings: Sequence[Standing], folder: Path = FOLDER) -> None:
    """Expect what was measured: a changed value begins with this version, and the one before goes to the past.

    Raises ConfigError for facts of other columns than ``check_acceptable`` takes.
    """
    check_acceptable((one.fact.framework, one.fact.device) for one in standings)
    changed: dict[str, dict[str, Any]] = {}
    for one in standings:
        framework = one.fact.framework
        table = changed.setdefault(framework, {name: dict(row) for name, row in expected(framework, folder).items()})
        row = table.get(one.fact.probe)
        if row is None or not one.holds:
            past = [*row.get("past", []), {"value": row["value"], "until": one.fact.version, "source": ""}] if row else []
            table[one.fact.probe] = {"value": one.fact.value, "since": one.fact.version} | ({"past": past} if past else {})
    for framework, table in changed.items():
        write_whole(folder / f"{framework}.json", json.dumps(dict(sorted(table.items())), indent=1) + "\n")
