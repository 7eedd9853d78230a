"""The folder of a sweep: what was planned, and what was measured, a file per unit in each.

``planned/NAME.json`` describes a unit, ``units/NAME.json`` is its result. Several commands may work in one folder: a name says
what is in a file, and each is written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files.whole_file import write_whole
from .unit import Unit, name_of

PLANNED, UNITS = "planned", "units"
PARTS = {"unit", "attempts", "host", "cells", "planned", "failed", "controls", "idle", "versions", "devices", "results"}


class SweepFolder:
    def __init__(self, folder: Path):
        self.folder = folder

    def plan(self, unit: Unit) -> None:
        """Note that it is to be run, so that one that never ran is missed."""
        path = self._path(PLANNED, unit.name)
        if _content(path) is None:
            write_whole(path, json.dumps(unit.description, indent=1) + "\n")

    def write(self, unit: Unit, run: dict[str, Any], attempts: int) -> None:
        content = {"unit": unit.description, "attempts": attempts, **run}
        write_whole(self._path(UNITS, unit.name), json.dumps(content, indent=1) + "\n")

    def result(self, name: str) -> dict[str, Any] | None:
        """Of a unit that was run; None where there is no file, or one that is not whole, or not that unit's."""
        run = _content(self._path(UNITS, name))
        whole = isinstance(run, dict) and run.keys() >= PARTS and name_of(run["unit"]) == name
        return run if whole else None

    def names(self) -> list[str]:
        """Of all units that were planned or run."""
        return sorted({path.stem for part in (PLANNED, UNITS) for path in (self.folder / part).glob("*.json")})

    def results(self) -> Iterator[tuple[str, dict[str, Any] | None, int | None]]:
        """Name, result and seed of each, read one after the other; the seed is None where no file tells it."""
        for name in self.names():
            run = self.result(name)
            described = run["unit"] if run else _content(self._path(PLANNED, name)) or {}
            yield name, run, described.get("seed")

    def _path(self, part: str, name: str) -> Path:
        return self.folder / part / f"{name}.json"


def _content(path: Path) -> Any:
    """What a file of JSON holds; None where there is none, or half of one."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
