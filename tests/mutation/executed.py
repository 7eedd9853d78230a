"""Which lines of a backend's files are executed."""

from __future__ import annotations

import sys
from typing import Any


class Executed:
    """Inside, ``lines`` collects them by file. Of every other function only the call is seen."""

    def __init__(self, backend: str):
        self.folder = f"/backends/{backend}/"
        self.sets: dict[str, set[int]] = {}

    @property
    def lines(self) -> dict[str, list[int]]:
        return {file.rpartition("/")[2]: sorted(lines) for file, lines in self.sets.items() if lines}

    def __enter__(self) -> Executed:
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.settrace(None)

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        return self._line if self.folder in file else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self.sets.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self._line
