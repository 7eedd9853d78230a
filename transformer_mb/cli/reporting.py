"""The user's side of a command: errors in words with their exit status, lines on the standard streams, and how it ends."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from ..reports.output import describe, tell
from .standard_output import STANDARD_OUTPUT, give_up, naming

if TYPE_CHECKING:
    from ..data import BadLines


import signal
import threading
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # as a shell counts a process that Ctrl-C ended


class Debugging:
    """A switch: errors keep their traceback while it is on; the global option ``--debug`` sets it."""

    on = False


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every error printed as one paragraph on standard error, and an exit status."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
            sys.stdout.flush()
        except KeyboardInterrupt as interrupt:
            tell(str(interrupt) or "Interrupted.")
            raise typer.Exit(getattr(interrupt, "exit_status", INTERRUPTED)) from None
        except BrokenPipeError:
            raise typer.Exit(1) from None  # the reader of our output has left: no process can be told
        except Exception as error:
            if Debugging.on or isinstance(error, typer.Exit | typer.Abort | typer.BadParameter):
                raise
            raise typer.Exit(told(error)) from None

    return run


def exit_status(error: Exception) -> int:
    """2 for a command that was called wrongly or got what it cannot take, 1 for a negative result, and for a bug."""
    return getattr(error, "exit_status", 2 if isinstance(error, OSError) else 1)


def tell_bad_lines(found: BadLines) -> None:
    """A line for each kind of lines that were no proper text, blank ones aside."""
    for line in found.notes():
        tell(f"Note: {line}.")


def encoded_rows(rows: Iterable[str]) -> Iterator[bytes]:
    """Lines as bytes.

    A line break inside a row, which subwords of bytes can spell, becomes a space: line n is the translation of line n.
    """
    return (row.replace("\n", " ").encode("utf-8") + b"\n" for row in rows)


def write_rows(rows: Iterable[str]) -> None:
    """Write lines to standard output, for the process that reads them. Raises OSError, with its name where it takes no more."""
    with naming():
        sys.stdout.buffer.writelines(encoded_rows(rows))
        sys.stdout.buffer.flush()


def say(*lines: str) -> None:
    """Print lines beside work whose result is a file: where they are no longer read, the work goes on."""
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:
        give_up()


def open_standard_streams() -> None:
    """Give a process that was started without standard error (``2>&-``) one that shows nothing, and keep the others' places.

    Otherwise the next file that is opened would become one of them. ``sys.stdin`` stays None where it is closed. Raises
    ConfigError if standard output is closed: what a command was asked for would be lost.
    """
    closed = [number for number in range(3) if not _is_open(number)]
    for _ in closed:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        from ..errors import ConfigError

        raise ConfigError("Standard output must be open, got it closed; > /dev/null throws away what it would hold.")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def leave_quietly(status: int) -> int:
    """Flush what is left of the output; a reader that has gone must not make Python complain at its own exit."""
    try:
        with naming():
            sys.stdout.flush()
    except BrokenPipeError:
        give_up()
    except OSError as error:
        return told(error)
    return status


def told(error: Exception) -> int:
    """The exit status of an error, which is said in one paragraph."""
    if isinstance(error, OSError) and error.filename == STANDARD_OUTPUT:
        give_up()
    tell(f"Error: {describe(error)}")
    return exit_status(error)


SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """Have such a signal raise SystemExit inside the block, with the status that a shell counts, instead of ending at once.

    It does nothing outside the main thread, and where a signal is ignored (``nohup``) or has a handler already.
    """

    def end(number: int, frame: FrameType | None) -> None:
        for ours in before:
            signal.signal(ours, signal.SIG_IGN)  # a second one is not to stop the cleaning up
        raise SystemExit(128 + number)

    main = threading.current_thread() is threading.main_thread()
    before = [one for one in SIGNALS if main and signal.getsignal(one) is signal.SIG_DFL]
    for one in before:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in before:
            signal.signal(one, signal.SIG_DFL)
