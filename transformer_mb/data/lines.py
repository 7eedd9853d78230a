"""Lines of a text file, plain or gzipped, read as they are asked for: none takes more memory than a line may.

A line ends at ``\\n`` alone (a ``\\r`` before it is dropped): the other characters that Python's ``splitlines``
breaks at, such as U+2028, occur inside real sentences.
"""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase
from itertools import islice
from os import PathLike, fspath
from typing import BinaryIO

from ..errors import DataError
from ..files.pipes import open_to_read
from .bad_lines import BadLines
from .padding import check_limits

Path = str | PathLike[str]
Open = Callable[[str], BufferedIOBase]  # a file's bytes as they lie on the disk

LONGEST_LINE = 4 << 20  # bytes: more than JSON needs for the longest two sides, each character of them escaped
# What a whole file begins with, and how it becomes lines of UTF-8. UTF-32's mark begins with that of UTF-16.
BEGINNINGS = {
    BOM_UTF32_LE: ("UTF-32", "iconv -f UTF-32 -t UTF-8"),
    BOM_UTF32_BE: ("UTF-32", "iconv -f UTF-32 -t UTF-8"),
    BOM_UTF16_LE: ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
    BOM_UTF16_BE: ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
    b"\x1f\x8b": ("gzip", "a name that ends in .gz"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "unzstd"),
    b"PK\x03\x04": ("a zip archive (.zip, .xlsx, .docx)", "unzip, or saving a table as text"),
    b"%PDF-": ("PDF", "pdftotext"),
    b"7z\xbc\xaf\x27\x1c": ("7-Zip", "7z x"),
    b"PAR1": ("Parquet", "saving a table as text"),
    b"ARROW1": ("Arrow", "saving a table as text"),
    b"SQLite format 3\0": ("a database of SQLite", "saving a table as text"),
    b"\x89HDF": ("HDF5", "saving a table as text"),
    **{bytes((0x80, protocol)): ("a pickle", "writing its pairs as text") for protocol in range(2, 6)},
}
ENCODING = "A file of another encoding becomes UTF-8 by iconv, such as iconv -f LATIN1 -t UTF-8."
LOOKED_AT = 4096  # bytes


def numbered_lines(path: Path, bad_lines: BadLines | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a plain text file from 1, read as they are asked for; raises DataError as ``read_lines`` does.

    One that is dropped is empty, so that no later one moves up.
    """
    return ((number, line or "") for number, line in lines_of(path, bad_lines or BadLines(remedy="")))


def read_lines(path: Path, *, num_examples: int | None = None) -> list[str]:
    """The lines of a plain text file, empty ones included; raises DataError when it cannot be read."""
    check_limits(num_examples=num_examples)
    return [line for _, line in islice(numbered_lines(path), num_examples)]


def open_file(name: str) -> BufferedIOBase:
    return open_to_read(name)


@contextmanager
def text_file(path: Path, opened: Open = open_file) -> Iterator[BinaryIO | BufferedIOBase]:
    """The bytes of a plain text file, or of one that is gzipped, as the block reads them; raises DataError in its words."""
    name = fspath(path)
    if "\0" in name:
        raise DataError(f"The name of a file must have no NUL character, got {name!r}.")
    try:
        with opened(name) as stored:
            if not name.lower().endswith(".gz"):
                yield stored
                return
            with gzip.GzipFile(fileobj=stored, mode="rb") as file:
                yield file
    except FileNotFoundError:
        raise DataError(f"There is no file {name}.") from None
    except IsADirectoryError:
        raise DataError(f"{name} must be a file, but it is a folder.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        plain = " A plain file has no .gz in its name." if "Not a gzipped file" in str(error) else ""
        raise DataError(f"{name} must be a gzip file, but it is corrupt or cut short: {error}.{plain}") from None
    except MemoryError:
        raise DataError(f"A line of {name} must fit into the memory, but no more could be had.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None


def lines_of(path: Path, bad_lines: BadLines, opened: Open = open_file) -> Iterator[tuple[int, str | None]]:
    """Numbered lines from 1, read as they are asked for; see ``decoded_lines``. Raises DataError."""
    with text_file(path, opened) as file:
        yield from decoded_lines(file, fspath(path), bad_lines)


def decoded_lines(
    file: BinaryIO | BufferedIOBase, name: str, bad_lines: BadLines, first: int = 1
) -> Iterator[tuple[int, str | None]]:
    """Numbered lines without their ends and without byte-order marks, which ``cat`` leaves at other lines too.

    One that is no UTF-8 or has no end is None where bad lines are dropped; else it raises DataError. ``first``: the number
    of the first of them in the file of this name.
    """
    offset = 0
    for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), start=first):
        if number == 1:
            _check_beginning(raw, name)
        offset += len(raw)
        if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
            words = f"must be a line of text, but is one of more than {LONGEST_LINE:,} bytes. {bad_lines.remedy}"
            bad_lines.refuse("long", DataError(f"{name}, line {number}, {words}".rstrip()))
            offset += _skip_line(file)
            yield number, None
            continue
        try:
            yield number, _decoded(raw, bad_lines)
        except UnicodeDecodeError as error:
            place = f"line {number}, byte {offset - len(raw) + error.start} of the whole"
            reason = " ".join(filter(None, (f"{error.reason}.", ENCODING, bad_lines.remedy)))
            refused = DataError(f"{name} must be UTF-8 text, but {place}, is not: {reason}")
            bad_lines.refuse("no_utf8", refused)
            yield number, None


def _skip_line(file: BinaryIO | BufferedIOBase) -> int:
    """Read the rest of a line; returns how many bytes that was."""
    length = 0
    while rest := file.readline(LONGEST_LINE):
        length += len(rest)
        if rest.endswith(b"\n"):
            break
    return length


def _decoded(raw: bytes, bad_lines: BadLines) -> str:
    line, start = raw.removesuffix(b"\n"), 0
    if line.startswith(BOM_UTF8):
        line, start = line[len(BOM_UTF8) :], len(BOM_UTF8)
        bad_lines.counts["byte_order_mark"] += 1
    if line.endswith(b"\r"):
        line = line[:-1]
        bad_lines.counts["carriage_return"] += 1
    if b"\r" in line:
        bad_lines.counts["return_inside"] += 1
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        error.start += start
        raise


def _check_beginning(first: bytes, name: str) -> None:
    """Refuse a file that is no UTF-8 text as a whole, or has no line ends that we know, so that none of its lines is right."""
    for beginning, (what, remedy) in BEGINNINGS.items():
        if first.startswith(beginning):
            raise DataError(f"{name} must be UTF-8 text, but it begins as {what} does: {remedy} makes it what can be read.")
    head = first[:LOOKED_AT]
    for start, order in ((1, "LE"), (0, "BE")):  # letters of most scripts of Europe have a NUL byte beside them
        if len(head) > 1 and head[start::2].count(0) * 2 > len(head[start::2]) > head[1 - start :: 2].count(0) * 8:
            remedy = f"iconv -f UTF-16{order} -t UTF-8 makes it what can be read"
            raise DataError(f"{name} must be UTF-8 text, but every other byte is NUL, as in UTF-16: {remedy}.")
    if not first.endswith(b"\n") and b"\r" in first.rstrip(b"\r"):
        raise DataError(f"{name} must end its lines with LF, but it has CR alone: tr '\\r' '\\n' makes it what can be read.")
