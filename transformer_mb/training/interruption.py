"""Ctrl-C as a request: the step in progress ends, the loop saves, and only then does it stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """Inside the block the first Ctrl-C sets ``requested``; a second one raises KeyboardInterrupt as always.

    It does nothing outside the main thread, where Python delivers no signals, and where Ctrl-C is ignored or has a
    handler of the caller's own.
    """

    def __init__(self, on_request: Callable[[], None]):
        self.requested = False
        self._on_request = on_request
        self._before: Any = None

    def __enter__(self) -> Interruption:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._on_request()
