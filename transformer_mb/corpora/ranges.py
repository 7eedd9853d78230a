"""Ranges of the lines of text files: where each lies and what it holds, told by one look at every file."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..data.bad_lines import BadLines
from ..data.lines import decoded_lines, text_file
from ..errors import DataError

Numbered = Iterator[tuple[int, str]]


@dataclass(frozen=True)
class Range:
    """Lines of one file that follow each other.

    Args:
        file: path. line: number of the first line in the file, and first: among those of all files, both from 1.
        offset, size: where the bytes begin, and how many there are, of what a file ending in .gz holds unpacked.
        digest: SHA-256 of these bytes.
    """

    file: str
    line: int
    first: int
    lines: int
    offset: int
    size: int
    digest: str


class _Noted:
    """A file that notes the bytes that are read of it."""

    def __init__(self, file: Any):
        self.file, self.offset, self.digest = file, 0, hashlib.sha256()

    def readline(self, most: int) -> bytes:
        line: bytes = self.file.readline(most)
        self.offset += len(line)
        self.digest.update(line)
        return line

    def taken(self) -> str:
        found, self.digest = self.digest.hexdigest(), hashlib.sha256()
        return found


def ranges_of(files: list[Path], length: int, bad_lines: BadLines) -> Iterator[Range]:
    """Yield ranges of at most ``length`` lines, none of which reaches into another file.

    Raises DataError where a file cannot be read twice or holds a line that is refused: before anything is translated.
    """
    first = 1
    for path in files:
        if path.exists() and not path.is_file():
            raise DataError(f"--data must be regular files, which are read more than once, got {path}.")
        with text_file(path) as opened:
            noted = _Noted(opened)
            lines, line, offset = _accepted(noted, str(path), bad_lines, 1), 1, 0
            while count := sum(1 for _ in islice(lines, length)):
                yield Range(str(path.resolve()), line, first, count, offset, noted.offset - offset, noted.taken())
                line, first, offset = line + count, first + count, noted.offset


def lines_in(place: Range, bad_lines: BadLines) -> Numbered:
    """Return the numbered lines of a range; one that is dropped is empty. Raises DataError where the file holds other bytes."""
    with text_file(place.file) as opened:
        opened.seek(place.offset)
        content = opened.read(place.size)
    if hashlib.sha256(content).hexdigest() != place.digest:
        raise DataError(f"{place.file} must hold from line {place.line} on what it held at first, got other lines.")
    return _accepted(io.BytesIO(content), place.file, bad_lines, place.line)


def _accepted(file: Any, name: str, bad_lines: BadLines, first: int) -> Numbered:
    """Yield lines as ``translate`` takes them: one that is dropped is empty, so that no later one moves up."""
    for number, line in decoded_lines(file, name, bad_lines, first):
        yield number, line if line and bad_lines.accepts([line], [name], number, ("nul",)) else ""
