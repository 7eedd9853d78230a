"""Lines of any number, a chunk at a time, so that a command needs little memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .reporting import encoded_rows, write_rows

if TYPE_CHECKING:
    from ..data import BadLines

STANDARD_INPUT = "Standard input"
CHUNK = 4096  # lines that are sorted by length together
Item = TypeVar("Item")


def standard_input(bad_lines: BadLines | None = None) -> Iterator[tuple[int, str]]:
    """The lines of standard input with their numbers, from 1. One that is dropped is empty, so that no later one moves up."""
    from ..data import BadLines
    from ..data.lines import decoded_lines
    from ..errors import ConfigError

    if sys.stdin is None:
        raise ConfigError("Standard input must be open, got it closed; < /dev/null gives it no lines.")
    bad_lines = bad_lines or BadLines()
    lines = ((number, line or "") for number, line in decoded_lines(sys.stdin.buffer, STANDARD_INPUT, bad_lines))
    return _usable(lines, STANDARD_INPUT, bad_lines)


def input_lines(path: Path | None, bad_lines: BadLines) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file, else of standard input."""
    from ..data.lines import numbered_lines

    return standard_input(bad_lines) if path is None else _usable(numbered_lines(path, bad_lines), str(path), bad_lines)


def _usable(lines: Iterator[tuple[int, str]], name: str, bad_lines: BadLines) -> Iterator[tuple[int, str]]:
    return ((number, line if bad_lines.accepts([line], [name], number, ("nul",)) else "") for number, line in lines)


@contextmanager
def rows_to(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """A function that writes lines to a file, which is there when the block ends without an error, else to standard output."""
    if path is None:
        yield write_rows
        return
    from ..files.whole_file import replaced_file

    with replaced_file(path) as file:
        yield lambda rows: file.writelines(encoded_rows(rows))


def chunk_size(path: Path | None = None) -> int:
    """Return the lines that are answered together: one where a user types."""
    return 1 if path is None and sys.stdin is not None and sys.stdin.isatty() else CHUNK


def numbered_chunks(items: Iterator[Item], size: int) -> Iterator[tuple[int, list[Item]]]:
    """The number of the first item, from 1, and the items. One that cannot be read raises, once those before it have come."""
    from ..errors import DataError

    first, chunk, failure = 1, list[Item](), None
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                yield first, chunk
                first, chunk = first + size, []
    except DataError as error:
        failure = error
    if chunk:
        yield first, chunk
    if failure:
        raise failure


def answered(
    answer: Callable[[int, list[Item]], Iterable[str]], chunks: Iterable[tuple[int, list[Item]]], write: Callable[..., None]
) -> None:
    """Write what ``answer`` gives of each chunk and the number of its first line; of one with a line that is refused, what it
    gives of those before, and raise.
    """
    from ..errors import TransformerMBError

    for first, chunk in chunks:
        try:
            rows = list(answer(first, chunk))
        except TransformerMBError as error:
            if error.line is not None and error.line > first:
                write(answer(first, chunk[: error.line - first]))
            raise
        write(rows)
