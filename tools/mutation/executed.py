"""Collects the executed lines of the files that mistakes are made in."""

from __future__ import annotations

import sys
from typing import Any

from .sources import ROOT, folder, names


class Executed:
    """Inside, ``lines`` collects them by file. Of every other function only the call is seen."""

    def __init__(self, part: str):
        # Without what comes before the project's own folder: a package may be found by more than one path.
        self.folder = f"/{folder(part).relative_to(ROOT)}/"
        self.names = set(names(part))
        self.sets: dict[str, set[int]] = {}

    @property
    def lines(self) -> dict[str, list[int]]:
        return {self._name(file): sorted(lines) for file, lines in self.sets.items() if lines}

    def __enter__(self) -> Executed:
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.settrace(None)

    def _name(self, file: str) -> str:
        return file.rpartition(self.folder)[2]

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        return self._line if self.folder in file and self._name(file) in self.names else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self.sets.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self._line
