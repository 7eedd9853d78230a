"""SIGTERM, and the end of a terminal, end a command as Ctrl-C does: what it has begun goes, and so do its processes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """Inside the block such a signal raises SystemExit, with the status that a shell counts, instead of ending at once.

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
