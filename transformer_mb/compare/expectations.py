"""The values that each framework is expected to have, and the status of a measured fact beside them.

``compare/expected.json`` holds, by probe and framework, ``{"value": ..., "since": VERSION}``: the value, null where the
framework has no such built-in, and the first version that it was measured with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..files.whole_file import write_whole
from ..printable import counted
from .facts import Fact, Value, same
from .probes import PROBES

FILE = Path(__file__).with_name("expected.json")
WRONG = ("changed", "gone")


@dataclass(frozen=True)
class Standing:
    """A fact beside the expected value and the version that it was measured with."""

    fact: Fact
    status: str
    expected: Value | None = None
    version: str = ""

    @property
    def holds(self) -> bool:
        return self.status not in WRONG


Expected = dict[str, dict[str, Any]]  # by probe and framework


def expected(file: Path = FILE) -> Expected:
    """Read the expected values; ``torch@old`` is expected to have torch's."""
    return json.loads(file.read_text()) if file.exists() else {}


def earlier(facts: Iterable[Fact]) -> Expected:
    """Make expected values of the facts of an earlier run."""
    table: Expected = {}
    for fact in facts:
        table.setdefault(fact.probe, {})[fact.framework] = _row(fact)
    return table


def _row(fact: Fact) -> dict[str, Any]:
    return {"value": fact.value, "since": fact.version}


def check_shared(table: Expected, frameworks: Sequence[str], probes: Sequence[str]) -> None:
    """Refuse an earlier run that shares no fact with this one, in which no change could be found. Raises ConfigError."""
    if not any(framework in table.get(probe, {}) for framework in frameworks for probe in probes):
        raise ConfigError(
            f"--against must hold a fact that is measured now, of {', '.join(frameworks)}, but it has none of these "
            f"{counted(len(probes), 'probe')}."
        )


def check_acceptable(places: Iterable[tuple[str, str]]) -> None:
    """Refuse to accept columns with labels, or on another device than the CPU. Raises ConfigError."""
    if other := [f"{label} on {device}" for label, device in dict.fromkeys(places) if "@" in label or device != "cpu"]:
        raise ConfigError(
            f"--accept must measure frameworks by their own names and on the CPU, as all that is expected was, got "
            f"{', '.join(other)}. Leave it out, or give `--device cpu`."
        )


def standing(fact: Fact, row: Mapping[str, Any] | None) -> Standing:
    """Return a fact beside its expected row, None where there is none, with its status.

    That is "as expected" or "changed"; "new" where nothing is expected yet; "gone" where the framework no longer has the
    built-in, and "not measurable here" where it never had it.
    """
    value, version = (row["value"], row["since"]) if row else (None, "")
    if fact.value is None:
        status = "gone" if value is not None else "not measurable here"
    elif value is None:
        status = "new"
    else:
        kind = PROBES[fact.probe].kind
        status = "as expected" if same(kind, fact.value, value) else "changed"
    return Standing(fact, status, value, version)


def differs(facts: Sequence[Fact]) -> bool:
    """Return whether the values of one probe differ in any column; those that are only noted never do."""
    kind = PROBES[facts[0].probe].kind
    return any(not same(kind, facts[0].value, fact.value) for fact in facts[1:])


def standings(facts: Sequence[Fact], table: Expected | None = None, file: Path = FILE) -> list[Standing]:
    """Return every fact beside its row in ``table``, in which columns have their own labels, or in this package's file."""
    if table is not None:
        return [standing(fact, table.get(fact.probe, {}).get(fact.framework)) for fact in facts]
    known = expected(file)
    return [standing(fact, known.get(fact.probe, {}).get(fact.framework.partition("@")[0])) for fact in facts]


def accept(standings: Sequence[Standing], file: Path = FILE) -> None:
    """Store changed and new values, with the version that they were measured with, as the expected ones.

    Raises ConfigError for facts of other columns than ``check_acceptable`` takes.
    """
    check_acceptable((one.fact.framework, one.fact.device) for one in standings)
    table = expected(file)
    for one in standings:
        rows = table.setdefault(one.fact.probe, {})
        if one.fact.framework not in rows or one.status == "new" or not one.holds:
            rows[one.fact.framework] = _row(one.fact)
    write_whole(file, _written(table))


def _written(table: Expected) -> str:
    """Write as JSON with one row per line, so that the frameworks' values stand beneath each other."""
    probes = []
    for probe, rows in sorted(table.items()):
        lines = ",\n".join(f"  {json.dumps(framework)}: {json.dumps(row)}" for framework, row in sorted(rows.items()))
        probes.append(f" {json.dumps(probe)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(probes) + "\n}\n"
