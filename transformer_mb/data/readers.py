"""Sentence pairs from files: tab-separated, two parallel text files, or JSON lines; each may be gzipped.

A line ends at ``\\n`` alone (a ``\\r`` before it is dropped): the other characters that Python's ``splitlines``
breaks at, such as U+2028, occur inside real sentences.
"""

from __future__ import annotations

import gzip
import json
import reprlib
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedIOBase
from itertools import islice, repeat, zip_longest
from os import PathLike, fspath
from typing import Any

from ..errors import ConfigError, DataError
from .bad_lines import KINDS, REMEDY, BadLines, described
from .padding import check_limits

Path = str | PathLike[str]
Pair = tuple[str, str]
Numbered = tuple[int, Pair | None]

JSON_ENDINGS = (".jsonl", ".json")
DEFAULT_FIELDS = ("source", "target")
DROPPED = {kind for kind, (_, fate) in KINDS.items() if fate in (None, "kept")}
EXCERPT = 60  # characters of a wrong line that a message shows


class Pairs(list[Pair]):
    """(source, target) sentences; ``bad_lines`` counts what was left out, ``skipped`` those with a blank side.

    Raises DataError for what is no pair of texts, by its number.
    """

    def __init__(self, lines: Iterable[Pair] = ()):
        self.bad_lines = BadLines()
        numbered = ((number, _checked(number, line)) for number, line in enumerate(lines, start=1))
        super().__init__(_usable(numbered, ("The pairs", "The pairs"), self.bad_lines))

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


def _usable(lines: Iterable[Numbered], names: tuple[str, str], bad_lines: BadLines) -> Iterator[Pair]:
    """Those that can be trained on, the others being counted or refused; None is a line that has been counted before."""
    for number, pair in lines:
        if pair is None:
            continue
        source, target = pair
        if not (source.strip() and target.strip()):
            bad_lines.counts["blank"] += 1
        elif bad_lines.accepts(pair, names, number):
            yield pair


def read_pairs(
    path: Path,
    target_path: Path | None = None,
    *,
    num_examples: int | None = None,
    fields: Sequence[str] | None = None,
    bad_lines: str = "stop",
) -> Pairs:
    """(source, target) sentences, as they stand in the file. Lines with a blank side are left out and counted.

    Args:
        path: ``.jsonl`` holds one JSON object a line, every other file SOURCE TAB TARGET (further columns are
            ignored); a last ``.gz`` means gzipped. Empty lines at the end do not count.
        target_path: given this, both are plain text, line n of one being the translation of line n of the other.
        num_examples: read only the first N lines.
        fields: the two field names of JSON lines, by default ``("source", "target")``; they are looked up in the
            object itself and in its ``translation`` field.
        bad_lines: ``stop`` at a line that cannot be trained on, or ``drop`` it (``data.bad_lines`` says what is bad).
            Parallel files of different lengths are refused in any case: nobody knows which line is missing.
    Raises:
        DataError: naming the file, the line, what was expected there and what is there.
    """
    pairs, found = Pairs(), BadLines(bad_lines)
    pairs.extend(iterate_pairs(path, target_path, num_examples=num_examples, fields=fields, bad_lines=found))
    pairs.bad_lines = found
    return pairs


def iterate_pairs(
    path: Path,
    target_path: Path | None = None,
    *,
    num_examples: int | None = None,
    fields: Sequence[str] | None = None,
    bad_lines: BadLines | None = None,
) -> Iterator[Pair]:
    """What ``read_pairs`` gives, one pair at a time; ``bad_lines`` counts. A file of any size needs no memory."""
    bad_lines = bad_lines or BadLines()
    _check_arguments(path, target_path, num_examples, fields)
    if target_path is not None:
        numbered = _parallel(path, target_path, bad_lines)
    else:
        json_lines = _is_json(path)
        names = tuple(DEFAULT_FIELDS if fields is None else fields)
        parse = (lambda line: _from_json(line, names)) if json_lines else _from_columns
        numbered = _parsed(path, parse, bad_lines)
    empty = True
    for pair in _usable(islice(numbered, num_examples), (fspath(path), fspath(target_path or path)), bad_lines):
        empty = False
        yield pair
    if empty:
        what, skipped = "is empty", bad_lines.counts["blank"]
        if skipped:
            what = f"holds {skipped} lines with a blank side and no other"
        if set(bad_lines.counts) & DROPPED:
            what = f"holds no line that can be used ({'; '.join(described(bad_lines.counts, bad_lines.action))})"
        raise DataError(f"{fspath(path)} {what}: it must hold at least one pair of sentences.")


def read_lines(path: Path, *, num_examples: int | None = None) -> list[str]:
    """The lines of a plain text file, empty ones included; raises DataError when it cannot be read."""
    check_limits(num_examples=num_examples)
    return [line or "" for _, line in islice(_lines(path, BadLines()), num_examples)]


def _check_arguments(path: Path, target_path: Path | None, num_examples: int | None, fields: Sequence[str] | None) -> None:
    check_limits(num_examples=num_examples)
    if fields is not None:
        names = [fields] if isinstance(fields, str) else list(fields)
        if len(names) != 2 or names[0] == names[1] or not all(isinstance(name, str) for name in names):
            raise ConfigError(f"fields must be two different names, source first, got {fields!r}.")
        if target_path is not None or not _is_json(path):
            raise ConfigError(f"fields belong to JSON lines (.jsonl, .jsonl.gz), got {fspath(path)}.")
    if target_path is not None:
        for side in (path, target_path):
            if _is_json(side):
                raise ConfigError(f"Two parallel files must be plain text, got {fspath(side)}, whose name says JSON.")


def _is_json(path: Path) -> bool:
    return fspath(path).lower().removesuffix(".gz").endswith(JSON_ENDINGS)


def _parsed(path: Path, parse: Callable[[str], Pair], bad_lines: BadLines) -> Iterator[Numbered]:
    """One pair a line; an empty line is a blank one, unless nothing but such lines follow."""
    empty = 0
    for number, line in _lines(path, bad_lines):
        if line is not None and not line.strip():
            empty += 1
            continue
        yield from repeat((number, ("", "")), empty)
        empty = 0
        try:
            yield number, None if line is None else parse(line)
        except DataError as error:
            bad_lines.refuse("no_pair", DataError(f"{fspath(path)}, line {number}: {error}."))
            yield number, None


def _from_columns(line: str) -> Pair:
    columns = line.split("\t", 2)
    if len(columns) < 2:
        raise DataError(f"SOURCE TAB TARGET was expected, but there is no tab in {_excerpt(line)}")
    return columns[0], columns[1]


def _from_json(line: str, fields: tuple[str, ...]) -> Pair:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"a JSON object was expected, got {_excerpt(line)} ({error})") from None
    if not isinstance(item, dict):
        raise DataError(f"a JSON object was expected, got {_excerpt(line)}")
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
        raise DataError(f"the field {name!r} must be a string, got {_excerpt(json.dumps(value))}")
    try:
        value.encode("utf-8")  # JSON can escape half of a surrogate pair, which no UTF-8 file could hold afterwards
    except UnicodeEncodeError:
        raise DataError(f"the field {name!r} must be Unicode text, but half of a surrogate pair is in {value!a}") from None
    return value


def _parallel(path: Path, target_path: Path, bad_lines: BadLines) -> Iterator[Numbered]:
    sources, targets = _lines(path, bad_lines), _lines(target_path, bad_lines)
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            shorter, longer = number - 1, number + sum(1 for _ in (targets if source is None else sources))
            counts = (shorter, longer) if source is None else (longer, shorter)
            raise DataError(
                f"{fspath(path)} and {fspath(target_path)} must have the same number of lines, got {counts[0]} and {counts[1]}."
            )
        yield number, None if source[1] is None or target[1] is None else (source[1], target[1])


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= EXCERPT else text[:EXCERPT] + "...")


def _lines(path: Path, bad_lines: BadLines) -> Iterator[tuple[int, str | None]]:
    """Numbered lines from 1, read as they are asked for."""
    name = fspath(path)
    try:
        with _open(name) as file:
            yield from decoded_lines(file, name, bad_lines)
    except FileNotFoundError:
        raise DataError(f"There is no file {name}.") from None
    except IsADirectoryError:
        raise DataError(f"{name} must be a file, but it is a folder.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{name} must be a gzip file, but it is corrupt or cut short: {error}.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a plain text file from 1, read as they are asked for; raises DataError as ``read_lines`` does."""
    return ((number, line or "") for number, line in _lines(path, BadLines()))


def each_parallel_pair(path: Path, target_path: Path) -> Iterator[Pair]:
    """Line n of one file with line n of the other, none left out; raises DataError as ``read_pairs`` does."""
    _check_arguments(path, target_path, None, None)
    return (pair for _, pair in _parallel(path, target_path, BadLines()) if pair is not None)


def each_pair(lines: Iterable[tuple[int, str]], name: str) -> Iterator[Pair]:
    """Of numbered lines SOURCE TAB TARGET, none left out; raises DataError at one without a tab, empty ones too."""
    for number, line in lines:
        try:
            yield _from_columns(line)
        except DataError as error:
            raise DataError(f"{name}, line {number}: {error}.") from None


def decoded_lines(file: Iterable[bytes], name: str, bad_lines: BadLines) -> Iterator[tuple[int, str | None]]:
    """Numbered lines from 1 without their ends and without byte-order marks, which ``cat`` leaves at other lines too.

    One that is no UTF-8 is None where bad lines are dropped; else it raises DataError.
    """
    offset = 0
    for number, raw in enumerate(file, start=1):
        line, start = raw.removesuffix(b"\n"), 0
        if line.startswith(BOM_UTF8):
            line, start = line[len(BOM_UTF8) :], len(BOM_UTF8)
            bad_lines.counts["byte_order_mark"] += 1
        if line.endswith(b"\r"):
            line = line[:-1]
            bad_lines.counts["carriage_return"] += 1
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"line {number}, byte {offset + start + error.start} of the whole"
            refused = DataError(f"{name} must be UTF-8 text, but {place}, is not: {error.reason}. {REMEDY}")
            bad_lines.refuse("no_utf8", refused)
            yield number, None
        offset += len(raw)


def _open(name: str) -> BufferedIOBase:
    return gzip.open(name, "rb") if name.lower().endswith(".gz") else open(name, "rb")
