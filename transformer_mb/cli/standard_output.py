"""Standard output whose errors say that they are its own: those of the system name no file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

STANDARD_OUTPUT = "Standard output"


class NamedOutput:
    """Another stream, whose errors have its name; a pipe without a reader is no such error."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with naming():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with naming():
            self._stream.flush()


@contextmanager
def naming() -> Iterator[None]:
    """Name standard output in every error of the system inside the block."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, STANDARD_OUTPUT) from error


def give_up() -> None:
    """Throw away what waits for standard output, and what comes: Python's end would try again, and complain."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def named_output() -> Iterator[None]:
    """Make ``sys.stdout`` a NamedOutput inside the block."""
    before = sys.stdout
    if before is not None:
        sys.stdout = NamedOutput(before)
    try:
        yield
    finally:
        sys.stdout = before
