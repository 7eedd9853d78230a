"""Plain text files that go line by line with a file of sentence pairs: its translations, or further references."""

from __future__ import annotations

from collections.abc import Sequence
from os import fspath

from ..errors import DataError
from .bad_lines import BadLines
from .lines import Path, lines_of, read_lines
from .readers import Pairs


def lines_beside(path: Path, pairs: Pairs, data: Path, num_examples: int | None = None) -> list[str]:
    """The line of each pair; lines whose pair was left out are left out too.

    Args:
        data: the file that the pairs came from. num_examples: the number of its lines that were read.
    Raises:
        DataError: not as many lines as the file of pairs has.
    """
    lines, expected = read_lines(path), count_lines(data)
    if num_examples is not None and num_examples < expected:
        lines, expected = lines[:num_examples], num_examples
    while len(lines) > expected and not lines[-1].strip():
        lines.pop()
    # The last lines of the data may have a blank side, and ``spread`` writes none for them.
    if not pairs.numbers[-1] <= len(lines) <= expected:
        raise DataError(f"{fspath(path)} must have one line per line of {fspath(data)}, {expected:,}, got {len(lines):,}.")
    return [lines[number - 1] for number in pairs.numbers]


def count_lines(path: Path) -> int:
    """Count lines, without empty ones at the end, which are no lines of a file of pairs."""
    counted = 0
    for number, line in lines_of(path, BadLines("drop")):
        if line is None or line.strip():
            counted = number
    return counted


def spread(lines: Sequence[str], pairs: Pairs) -> list[str]:
    """Return one line for each line of the file that the pairs came from, to the last pair: empty where one was left out."""
    by_number = dict(zip(pairs.numbers, lines, strict=True))
    return [by_number.get(number, "") for number in range(1, pairs.numbers[-1] + 1)]
