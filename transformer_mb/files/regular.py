"""Reading of files whose path another user, or another file, has chosen: regular ones only, and no longer than they may be.

Opening a named pipe waits for ever, a device may have no end, and opening one can do something by itself.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

# The largest published file of each kind has a tenth of that, or less.
LARGEST = {"configuration": 16 << 20, "facts": 16 << 20, "vocabulary": 128 << 20, "training state": 128 << 20}
KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def regular_size(path: Path | str) -> int:
    """The size of a file that a library is to open by its path; raises OSError, which says what is not regular."""
    return _size(os.stat(path), path)


def open_regular(path: Path | str) -> BinaryIO:
    """Open for reading; raises OSError."""
    regular_size(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _size(os.fstat(descriptor), path)  # another file may have taken its place
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular_file(path: Path | str, limit: int | None = None) -> bytearray:
    """The whole file; raises OSError, also when it has more than ``limit`` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if limit is not None and size > limit:
            raise OSError(errno.EFBIG, f"it must have at most {limit} bytes, but it has {size}", str(path))
        try:
            data = bytearray(size)
        except MemoryError:
            raise OSError(errno.ENOMEM, f"its {size} bytes do not fit into the memory", str(path)) from None
        del data[file.readinto(data) :]  # type: ignore[attr-defined]
        return data


def read_regular_text(path: Path | str, kind: str) -> str:
    """UTF-8 text of one of the kinds of ``LARGEST``, without a byte-order mark; raises OSError or UnicodeDecodeError."""
    return read_regular_file(path, LARGEST[kind]).decode("utf-8-sig")


def _size(status: os.stat_result, path: Path | str) -> int:
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "none")
        raise OSError(errno.EINVAL, f"it must be a regular file, but it is {kind}", str(path))
    return status.st_size


ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^/]")  # https://..., s3://..., and what Path leaves of them


def is_address(path: Any) -> bool:
    """Tell whether a name is another machine's, such as ``https://example.org/a.tsv``; a drive's letter is none."""
    return ADDRESS.match(str(path)) is not None
