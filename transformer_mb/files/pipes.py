"""Opening a file that its user has named, which may be a pipe: a wait for the pipe's other end is announced, and has a limit.

The system lets a process that opens a named pipe wait without a word until another process opens its other end.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from .waiting import LOOK_EVERY, Wait

FLAGS = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def open_to_read(path: Path | str) -> BufferedReader:
    """A file or a pipe; raises OSError, of a pipe without a writer after ``waiting.LIMIT`` seconds."""
    if not is_pipe(path):
        return open(path, "rb")
    descriptor = os.open(path, os.O_RDONLY | FLAGS)
    try:
        begun, wait = select.poll(), _OtherEnd(path, "write into")
        begun.register(descriptor, select.POLLIN)
        while not begun.poll(LOOK_EVERY * 1000):
            if wait.is_late() and not _has_writer(descriptor):
                raise wait.error()
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def open_to_write(path: Path | str, mode: str = "wb") -> Any:
    """A binary file or a pipe; raises OSError, of a pipe without a reader after ``waiting.LIMIT`` seconds."""
    if not is_pipe(path):
        return open(path, mode)
    wait = _OtherEnd(path, "read")
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | FLAGS)
            break
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        if wait.is_late():
            raise wait.error()
        wait.pause()
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "wb")


def is_pipe(path: Path | str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _has_writer(descriptor: int) -> bool:
    """Tell whether an empty pipe has a writer: without one it is at its end. A byte that comes this moment is too late."""
    try:
        os.read(descriptor, 1)
    except BlockingIOError:
        return True
    return False


class _OtherEnd(Wait):
    """``other``: what another process is to do with the pipe."""

    def __init__(self, path: Path | str, other: str):
        super().__init__()
        self.path, self.other = path, other

    def is_late(self) -> bool:
        return self.is_over(f"another process to {self.other} the pipe {self.path}")

    def error(self) -> OSError:
        words = f"it is a pipe, which no other process has opened to {self.other} it within {self.limit:g} seconds"
        return OSError(errno.ETIMEDOUT, words, str(self.path))
