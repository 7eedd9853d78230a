"""The folder of a sweep: what was planned, and what was measured, a file per unit in each.

``planned/NAME.json`` describes a unit, ``units/NAME.json`` is its result. Several commands may work in one folder: a name says
what is in a file, and each is written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...files.regular import read_regular_file
from ...files.typed_record import loaded
from ...files.whole_file import write_whole
from .record import check_run, check_unit
from .unit import Unit

PLANNED, UNITS = "planned", "units"


class Found(NamedTuple):
    """What a folder has of a unit.

    Args:
        run: what was measured; None where there is no file, or one that is not usable.
        seed: None where no usable file tells it. refused: why a file is not usable; empty where none was refused.
    """

    name: str
    run: dict[str, Any] | None
    seed: int | None
    refused: str = ""


class SweepFolder:
    def __init__(self, folder: Path):
        self.folder = folder

    def plan(self, unit: Unit) -> None:
        """Note that it is to be run, so that one that never ran is missed."""
        path = self._path(PLANNED, unit.name)
        if self._read(PLANNED, unit.name)[0] is None:
            write_whole(path, json.dumps(unit.description, indent=1) + "\n")

    def write(self, unit: Unit, run: dict[str, Any], attempts: int) -> None:
        content = {"unit": unit.description, "attempts": attempts, **run}
        write_whole(self._path(UNITS, unit.name), json.dumps(content, indent=1) + "\n")

    def result(self, name: str) -> dict[str, Any] | None:
        """Of a unit that was run; None where there is no file, or one that is not whole, or not that unit's."""
        return self._read(UNITS, name)[0]

    def names(self) -> list[str]:
        """Of all units that were planned or run."""
        return sorted({path.stem for part in (PLANNED, UNITS) for path in (self.folder / part).glob("*.json")})

    def results(self) -> Iterator[Found]:
        """Of each unit, read one after the other."""
        for name in self.names():
            run, refused = self._read(UNITS, name)
            described, why = (run["unit"], "") if run else self._read(PLANNED, name)
            yield Found(name, run, described["seed"] if described else None, refused or why)

    def _path(self, part: str, name: str) -> Path:
        return self.folder / part / f"{name}.json"

    def _read(self, part: str, name: str) -> tuple[dict[str, Any] | None, str]:
        """What a file holds, or why it cannot be used; neither where there is none."""
        try:
            content = loaded(read_regular_file(self._path(part, name)))
            (check_run if part == UNITS else check_unit)(content, name)
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"{part}/{name}.json cannot be read: {error.strerror}"
        except ValueError as error:
            return None, f"{part}/{name}.json: {error}"
        return content, ""
