"""The folder of many units: what was planned, and what came of it, a file per unit in each.

``planned/NAME.json`` describes a unit, ``units/NAME.json`` is its result. Several commands may work in one folder: a name says
what is in a file, and each is written whole or not at all.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..files.regular import read_regular_file
from ..files.typed_record import loaded
from ..files.whole_file import write_whole
from .unit import Unit

PLANNED, UNITS = "planned", "units"


class Found(NamedTuple):
    """Contents of a folder of one unit.

    Args:
        run: its result; None where there is no file, or one that is not usable.
        described: the unit; None where no usable file tells it. refused: why a file is not usable; empty where none was.
    """

    name: str
    run: dict[str, Any] | None
    described: dict[str, Any] | None
    refused: str = ""


class UnitFolder(ABC):
    """A folder of units of one kind, which says what their files must hold."""

    def __init__(self, folder: Path):
        self.folder = folder

    @abstractmethod
    def check_unit(self, described: Any, name: str) -> None:
        """Check, raising ValueError, that this describes the unit of a file's name."""

    @abstractmethod
    def check_run(self, run: Any, name: str) -> None:
        """Check, raising ValueError, that this is a result of that unit."""

    def plan(self, unit: Unit) -> None:
        """Note that it is to be run, so that one that never ran is missed."""
        path = self._path(PLANNED, unit.name)
        if self._read(PLANNED, unit.name)[0] is None:
            write_whole(path, json.dumps(unit.description, indent=1) + "\n")

    def write(self, unit: Unit, run: dict[str, Any], attempts: int) -> None:
        content = {"unit": unit.description, "attempts": attempts, **run}
        write_whole(self._path(UNITS, unit.name), json.dumps(content, indent=1) + "\n")

    def result(self, name: str) -> dict[str, Any] | None:
        """Return the result of a unit that was run; None where there is none, or it is not whole, or not that unit's."""
        return self._read(UNITS, name)[0]

    def names(self) -> list[str]:
        """Return the names of all units that were planned or run."""
        return sorted({path.stem for part in (PLANNED, UNITS) for path in (self.folder / part).glob("*.json")})

    def results(self) -> Iterator[Found]:
        """Yield what there is of each unit, read one after the other."""
        return map(self.found, self.names())

    def found(self, name: str) -> Found:
        run, refused = self._read(UNITS, name)
        described, why = (run["unit"], "") if run else self._read(PLANNED, name)
        return Found(name, run, described, refused or why)

    def planned(self, name: str) -> dict[str, Any] | None:
        """Return the description of a unit that was planned; None where no usable file has it."""
        return self._read(PLANNED, name)[0]

    def _path(self, part: str, name: str) -> Path:
        return self.folder / part / f"{name}.json"

    def _read(self, part: str, name: str) -> tuple[dict[str, Any] | None, str]:
        """Return what a file holds, or why it cannot be used; neither where there is none."""
        try:
            content = loaded(read_regular_file(self._path(part, name)))
            (self.check_run if part == UNITS else self.check_unit)(content, name)
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"{part}/{name}.json cannot be read: {error.strerror}"
        except ValueError as error:
            return None, f"{part}/{name}.json: {error}"
        return content, ""
