"""Work that a signal must not leave half: Ctrl-C, SIGTERM and SIGHUP wait until it is done, or it is taken back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def unbroken() -> Iterator[None]:
    """A signal whose handler would raise, Ctrl-C for one, waits until the block has ended: half of it is not to be left."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    main = threading.current_thread() is threading.main_thread()
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if main}
    before = {one: handler for one, handler in handlers.items() if callable(handler)}

    def put_back() -> None:
        for one, handler in before.items():
            if signal.getsignal(one) is note:  # a handler that is back may have been called, and have changed the others
                signal.signal(one, handler)

    try:
        for one in before:
            signal.signal(one, note)
        yield
    finally:
        try:
            put_back()
        finally:  # after a signal between the first handler that is back and the last
            put_back()
            if received:
                signal.raise_signal(received[0])


@contextmanager
def taken_back(undo: Callable[[], None]) -> Iterator[None]:
    """``undo`` is called when the block has ended in any way, unbroken.

    A signal may arrive on the way there, before anything holds it up. Therefore it is called once more, when it has nothing
    left to do.
    """
    try:
        try:
            yield
        finally:
            with unbroken():
                undo()
    finally:
        with unbroken():
            undo()
