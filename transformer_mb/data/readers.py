"""Sentence pairs from files: tab-separated, two parallel text files, or JSON lines; each may be gzipped."""

from __future__ import annotations

import json
import os.path
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat, zip_longest
from os import fspath
from typing import Any

from ..errors import ConfigError, DataError
from ..printable import counted
from .bad_lines import KINDS, BadLines, counts_in_words
from .columns import Columns, UnusableFile, check_columns, excerpt, is_header
from .lines import Open, Path, lines_of, open_file
from .padding import check_limits

Pair = tuple[str, str]
Numbered = tuple[int, Pair | None]

JSON_ENDINGS = (".jsonl", ".json")
DEFAULT_FIELDS = ("source", "target")
DROPPED = {"control", "header", *(kind for kind, (_, fate) in KINDS.items() if fate is None)}


class Pairs(list[Pair]):
    """(source, target) sentences; ``bad_lines`` counts what was left out, ``skipped`` those with a blank side. ``numbers``:
    of a file, the line that each came from.

    Raises DataError for what is no pair of texts, by its number.
    """

    def __init__(self, lines: Iterable[Pair] = ()):
        self.bad_lines, self.numbers = BadLines(), list[int]()
        numbered = ((number, _checked(number, line)) for number, line in enumerate(lines, start=1))
        super().__init__(pair for _, pair in _usable(numbered, ("The pairs", "The pairs"), self.bad_lines))

    @property
    def skipped(self) -> int:
        return self.bad_lines.counts["blank"]


def checked_pairs(pairs: Iterable[Any]) -> Iterator[Pair]:
    """(source, target) texts, blank ones too; raises DataError for what is no pair, by its number."""
    return (_checked(number, pair) for number, pair in enumerate(pairs, start=1))


def _checked(number: int, line: Any) -> Pair:
    """A text of two letters would be unpacked as a pair too."""
    is_pair = isinstance(line, Sequence) and not isinstance(line, str | bytes) and len(line) == 2
    if not is_pair or not all(isinstance(side, str) for side in line):
        raise DataError(f"Sentence pairs must be (source, target) texts, but pair {number} is {reprlib.repr(line)}.")
    return line[0], line[1]


def _usable(lines: Iterable[Numbered], names: tuple[str, str], bad_lines: BadLines) -> Iterator[tuple[int, Pair]]:
    """Yield the pairs that can be trained on; others are counted or refused. None is a line that has been counted before."""
    for number, pair in lines:
        if pair is None:
            continue
        source, target = pair
        if not (source.strip() and target.strip()):
            bad_lines.counts["blank"] += 1
        elif bad_lines.accepts(pair, names, number):
            yield number, pair


def read_pairs(
    path: Path,
    target_path: Path | None = None,
    *,
    num_examples: int | None = None,
    fields: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
    bad_lines: str = "stop",
) -> Pairs:
    """(source, target) sentences, as they stand in the file. Lines with a blank side are left out and counted.

    Args:
        path: ``.jsonl`` holds one JSON object a line, every other file SOURCE TAB TARGET; a last ``.gz`` means gzipped.
            Empty lines at the end do not count, nor does a first line that names the columns (``source``, ``English``).
        target_path: with it, both are plain text, line n of one being the translation of line n of the other.
        num_examples: read only the first N lines.
        fields: the two field names of JSON lines, by default ``("source", "target")``; they are looked up in the
            object itself and in its ``translation`` field.
        columns: which two of a file's columns, from 1, source first. By default the first two: then all lines must have as
            many columns, and neither may hold numbers alone.
        bad_lines: ``stop`` at a line that cannot be trained on, or ``drop`` it (``data.bad_lines`` says what is bad).
            Parallel files of different lengths are refused in any case: which line is missing cannot be known.
    Raises:
        DataError: naming the file, the line, what was expected there and what is there.
    """
    pairs, found = Pairs(), BadLines(bad_lines)
    how: dict[str, Any] = {"num_examples": num_examples, "fields": fields, "columns": columns}
    try:
        for number, pair in numbered_pairs(path, target_path, **how, bad_lines=found):
            pairs.append(pair)
            pairs.numbers.append(number)
    except MemoryError:
        pairs.clear()
        raise DataError(
            f"The pairs of {fspath(path)} must fit into the memory, but no more could be had: num_examples (--num-examples) "
            "reads fewer; a training with a cache (--cache) maps them from the disk."
        ) from None
    pairs.bad_lines = found
    return pairs


def iterate_pairs(path: Path, target_path: Path | None = None, **how: Any) -> Iterator[Pair]:
    """Yield what ``read_pairs`` returns, one pair at a time; ``bad_lines`` counts. A file of any size needs no memory."""
    return (pair for _, pair in numbered_pairs(path, target_path, **how))


def numbered_pairs(
    path: Path,
    target_path: Path | None = None,
    *,
    num_examples: int | None = None,
    fields: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
    bad_lines: BadLines | None = None,
    opened: Open = open_file,
) -> Iterator[tuple[int, Pair]]:
    """Yield the pairs of ``read_pairs``, each with the number of its line. ``opened`` opens a file by its name."""
    bad_lines = bad_lines or BadLines()
    check_limits(num_examples=num_examples)
    _check_arguments(path, target_path, fields, columns)
    of_columns = Columns(fspath(path), check_columns(columns), bad_lines)
    if target_path is not None:
        numbered = _parallel(path, target_path, bad_lines, opened)
    else:
        names = tuple(DEFAULT_FIELDS if fields is None else fields)
        parse = (lambda line: _from_json(line, names)) if _is_json(path) else of_columns.pair
        numbered = _parsed(path, parse, bad_lines, opened)
    empty = True
    for number, pair in _usable(islice(numbered, num_examples), (fspath(path), fspath(target_path or path)), bad_lines):
        if number == 1 and is_header(pair):
            bad_lines.counts["header"] += 1
            continue
        if pair[0] == pair[1]:
            bad_lines.counts["same"] += 1
        if target_path is not None and ("\t" in pair[0] or "\t" in pair[1]):
            bad_lines.counts["tab"] += 1
        empty = False
        yield number, pair
    of_columns.check()
    if empty:
        what, skipped = "is empty", bad_lines.counts["blank"]
        if skipped:
            what = f"holds {counted(skipped, 'line')} with a blank side and no other"
        if (+bad_lines.counts).keys() & DROPPED:
            what = f"holds no line that can be used ({'; '.join(counts_in_words(bad_lines.counts, bad_lines.action))})"
        raise DataError(f"{fspath(path)} {what}: it must hold at least one pair of sentences.")


def _check_arguments(
    path: Path, target_path: Path | None, fields: Sequence[str] | None = None, columns: Sequence[int] | None = None
) -> None:
    if fields is not None:
        names = [fields] if isinstance(fields, str) else list(fields)
        if len(names) != 2 or names[0] == names[1] or not all(isinstance(name, str) for name in names):
            raise ConfigError(f"fields must be two different names, source first, got {fields!r}.")
        if target_path is not None or not _is_json(path):
            raise ConfigError(f"fields belong to JSON lines (.jsonl, .jsonl.gz), got {fspath(path)}.")
    if columns is not None and (target_path is not None or _is_json(path)):
        raise ConfigError(f"columns belong to one file of lines with tabs, got {fspath(target_path or path)}.")
    if target_path is not None:
        for side in (path, target_path):
            if _is_json(side):
                raise ConfigError(f"Two parallel files must be plain text, got {fspath(side)}, whose name says JSON.")
        if os.path.isfile(path) and os.path.exists(target_path) and os.path.samefile(path, target_path):
            raise ConfigError(f"Two parallel files must be different ones, got {fspath(path)} for both sides.")


def _is_json(path: Path) -> bool:
    return fspath(path).lower().removesuffix(".gz").endswith(JSON_ENDINGS)


def _parsed(path: Path, parse: Callable[[str], Pair], bad_lines: BadLines, opened: Open) -> Iterator[Numbered]:
    """Yield a pair per line; an empty line is blank, unless only such lines follow. One of tabs or spaces always is."""
    empty = 0
    for number, line in lines_of(path, bad_lines, opened):
        if line == "":
            empty += 1
            continue
        yield from repeat((number, ("", "")), empty)
        empty = 0
        try:
            yield number, None if line is None else parse(line) if line.strip() else ("", "")
        except UnusableFile:
            raise
        except DataError as error:
            bad_lines.refuse("no_pair", DataError(f"{fspath(path)}, line {number}: {error}."))
            yield number, None


def _from_json(line: str, fields: tuple[str, ...]) -> Pair:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        listed = "; of a list jq -c '.[]' makes such lines" if line.strip() in ("[", "{") else ""
        raise DataError(f"a JSON object was expected, got {excerpt(line)} ({error}){listed}") from None
    if not isinstance(item, dict):
        raise DataError(f"a JSON object was expected, got {excerpt(line)}")
    nested = item.get("translation")
    source, target = (_field(item if name in item or not isinstance(nested, dict) else nested, name) for name in fields)
    return source, target


def _field(item: dict[str, Any], name: str) -> str:
    if name not in item:
        present = ", ".join(map(repr, item)) or "none"
        choice = "fields, --fields in a command, chooses others"
        raise DataError(f"the field {name!r} was expected, but the fields are: {present} ({choice})")
    value = item[name]
    if not isinstance(value, str):
        raise DataError(f"the field {name!r} must be a string, got {excerpt(json.dumps(value))}")
    try:
        value.encode("utf-8")  # JSON can escape half of a surrogate pair, which no UTF-8 file could hold afterwards
    except UnicodeEncodeError:
        raise DataError(f"the field {name!r} must be Unicode text, but half of a surrogate pair is in {value!a}") from None
    return value


def _parallel(path: Path, target_path: Path, bad_lines: BadLines, opened: Open = open_file) -> Iterator[Numbered]:
    sources, targets = lines_of(path, bad_lines, opened), lines_of(target_path, bad_lines, opened)
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            shorter, longer = number - 1, number + sum(1 for _ in (targets if source is None else sources))
            counts = (shorter, longer) if source is None else (longer, shorter)
            raise DataError(
                f"{fspath(path)} and {fspath(target_path)} must have the same number of lines, got {counts[0]} and {counts[1]}."
            )
        yield number, None if source[1] is None or target[1] is None else (source[1], target[1])


def each_parallel_pair(path: Path, target_path: Path) -> Iterator[Pair]:
    """Line n of one file with line n of the other, none left out; raises DataError as ``read_pairs`` does."""
    _check_arguments(path, target_path)
    return (pair for _, pair in _parallel(path, target_path, BadLines(remedy="")) if pair is not None)


def each_pair(
    lines: Iterable[tuple[int, str]], name: str, columns: Sequence[int] | None = None, found: BadLines | None = None
) -> Iterator[Pair]:
    """Yield numbered lines SOURCE TAB TARGET, none left out; raises DataError at one without a tab, empty ones too."""
    of_columns = Columns(name, check_columns(columns), found or BadLines())
    for number, line in lines:
        try:
            yield of_columns.pair(line)
        except UnusableFile:
            raise
        except DataError as error:
            raise DataError(f"{name}, line {number}: {error}.") from None
    of_columns.check()
