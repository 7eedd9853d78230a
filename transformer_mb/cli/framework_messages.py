"""Standard error is for what a command has to say: what frameworks write there by themselves is kept away from it."""

from __future__ import annotations

import faulthandler
import functools
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, TextIO, cast

from .reporting import Debugging


def without_framework_messages(command: Callable[..., None]) -> Callable[..., None]:
    """The command with frameworks' messages, warnings and log lines thrown away, without ``--debug``."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with ExitStack() as stack:
            if not Debugging.on:
                stack.enter_context(_native_messages())
                stack.enter_context(_python_messages())
            command(*arguments, **options)

    return run


@contextmanager
def _native_messages() -> Iterator[None]:
    """Lead file descriptor 2, where C++ libraries write, nowhere inside the block; ``sys.stderr`` leads to where it led."""
    before, shown = sys.stderr, os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    before.flush()
    os.dup2(nowhere, 2)
    os.close(nowhere)
    # Unbuffered, since what Ctrl-C has to say may come in the middle of another message.
    raw = io.FileIO(shown, "w")
    stream = io.TextIOWrapper(cast(BinaryIO, raw), before.encoding, "backslashreplace", write_through=True)
    crashes = not faulthandler.is_enabled()
    if _writes_to(before, 2):
        sys.stderr = stream
    if crashes:
        faulthandler.enable(stream)  # a crash must not be silent
    try:
        yield
    finally:
        if crashes:
            faulthandler.disable()
        stream.flush()
        sys.stderr = before
        os.dup2(shown, 2)
        stream.close()


@contextmanager
def _python_messages() -> Iterator[None]:
    disabled = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.showwarning = lambda *parts, **more: None  # some frameworks set filters of their own
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(disabled)


def _writes_to(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except (OSError, ValueError):
        return False  # it stands for a file that is none
