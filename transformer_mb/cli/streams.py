"""Lines of any number, a chunk at a time, so that a command needs little memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

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
    for number, line in decoded_lines(sys.stdin.buffer, STANDARD_INPUT, bad_lines):
        usable = line is not None and bad_lines.accepts([line], [STANDARD_INPUT], number, ("nul",))
        yield number, line if line is not None and usable else ""


def chunk_size() -> int:
    """Each line is answered at once where somebody types."""
    return 1 if sys.stdin is not None and sys.stdin.isatty() else CHUNK


def numbered_chunks(items: Iterator[Item], size: int) -> Iterator[tuple[int, list[Item]]]:
    """The number of the first item, from 1, and the items. One that cannot be read raises, once those before it were given."""
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
