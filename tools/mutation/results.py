"""The fate of each mistake, kept as it comes, and the score."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import binomtest

from .engine import Verdict
from .judged import EQUIVALENT
from .mutants import Mutant
from .sources import BACKENDS

KILLED, SURVIVED, EQUAL = "killed", "survived", "equivalent"
RAISED = re.compile(rf"({'|'.join(BACKENDS)}) (raised|could not be made|did not answer)")


@dataclass(frozen=True)
class Record:
    """A mistake's line in the file of results."""

    key: str
    operator: str
    line: int
    status: str
    cell: str
    said: str
    ran: int
    seconds: float

    @property
    def file(self) -> str:
        return self.key.partition(" ")[0]

    @property
    def fate(self) -> str:
        """``raised`` where no number was needed to notice it: the backend raised, hung, or could not be imported.

        What a cell kills is a mistake, also where equivalent.toml says that it is none.
        """
        if self.status == "no change" or (self.key in EQUIVALENT and self.status != KILLED):
            return EQUAL
        if self.status == KILLED and (not self.cell or RAISED.match(self.said)):
            return "raised"
        return self.status


@dataclass(frozen=True)
class Score:
    """Counts of some mistakes: how many raised, were killed by the verdict, survived, or are no mistakes."""

    raised: int
    killed: int
    survived: int
    equivalent: int

    @property
    def by_numbers(self) -> Share:
        """The share that the verdict caught of those that no exception gives away."""
        return Share(self.killed, self.killed + self.survived)

    @property
    def mutation_score(self) -> Share:
        """The share as other tools count: whatever a run of the matrix notices is killed."""
        noticed = self.raised + self.killed
        return Share(noticed, noticed + self.survived)


class Share(NamedTuple):
    """A part of a whole: of a sample, so that what all of them would give lies in an interval (Wilson 1927, 95 %)."""

    part: int
    whole: int

    @property
    def text(self) -> str:
        return f"{self.part}/{self.whole}" if self.whole else "-"

    @property
    def percent(self) -> str:
        if not self.whole:
            return "-"
        low, high = binomtest(self.part, self.whole).proportion_ci(0.95, "wilson")
        return f"{100.0 * self.part / self.whole:.0f} % ({self.text}; {100.0 * low:.0f} to {100.0 * high:.0f})"


def score(records: Iterable[Record]) -> Score:
    fates = Counter(record.fate for record in records)
    return Score(fates["raised"], fates[KILLED], fates[SURVIVED], fates[EQUAL])


class Results:
    """The file: written anew after each mistake, and read again by a run of the same code with the same seeds."""

    def __init__(self, path: Path, facts: dict[str, Any]):
        """``facts``: what was run; results of another run are not continued, but say which cells may kill again."""
        self.path, self.facts, self.lock = path, facts, threading.Lock()
        self.backends: dict[str, dict[str, Any]] = {}
        self.killers: dict[str, str] = {}  # by a mistake's key
        if path.is_file():
            before = json.loads(path.read_text())
            if all(before.get(name) == value for name, value in facts.items()):
                self.backends, self.killers = before["backends"], before.get("killers", {})
            else:
                killed = [one for name in before["backends"] for one in records(before, name) if one.status == KILLED]
                self.killers = before.get("killers", {}) | {one.key: one.cell for one in killed if one.cell}

    def begin(self, backend: str, facts: dict[str, Any]) -> None:
        with self.lock:
            known = self.backends.get(backend, {}).get("records", [])
            self.backends[backend] = {**facts, "records": known}

    def known(self, backend: str) -> set[str]:
        return {record["key"] for record in self.backends.get(backend, {}).get("records", [])}

    def add(self, backend: str, mutant: Mutant, verdict: Verdict) -> Record:
        said = {**asdict(verdict), "seconds": round(verdict.seconds, 2)}
        record = Record(key=mutant.key, operator=mutant.operator, line=mutant.line, **said)
        with self.lock:
            self.backends[backend]["records"].append(asdict(record))
            self._write()
        return record

    def _write(self) -> None:
        """Write one record a line, into a new file that then takes the old one's place."""
        done = {record["key"] for facts in self.backends.values() for record in facts["records"]}
        killers = {key: cell for key, cell in self.killers.items() if key not in done}
        text = json.dumps({**self.facts, "killers": killers})[:-1] + ', "backends": {\n'
        parts = []
        for backend, facts in self.backends.items():
            lines = ",\n".join(json.dumps(record) for record in facts["records"])
            rest = json.dumps({name: value for name, value in facts.items() if name != "records"})[:-1]
            parts.append(f'"{backend}": {rest}, "records": [\n{lines}\n]}}')
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(text + ",\n".join(parts) + "\n}}\n")
        os.replace(new, self.path)


def records(run: dict[str, Any], backend: str) -> list[Record]:
    """Read the records that ``Results`` has written."""
    return [Record(**record) for record in run["backends"][backend]["records"]]
