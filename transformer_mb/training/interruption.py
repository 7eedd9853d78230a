"""Ctrl-C, or another signal, as a request: the step in progress ends, the loop saves, and only then does it stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from time import monotonic
from types import FrameType, TracebackType
from typing import Any

CTRL_C = (signal.SIGINT,)
# What ends a program from outside: schedulers, containers and supervisors send the first, a closing terminal the second.
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds within which a second such signal is the same request: ``timeout`` signals a process and then its group, and the
# shell passes on the end of a terminal that the system tells too. Ctrl-C comes once.
SAME_REQUEST = 1.0


class Interruption:
    """A block in which the first of the signals is a request, and a second one ends at once.

    Then Ctrl-C raises KeyboardInterrupt as always, another signal SystemExit with the status that a shell counts. Nothing
    happens outside the main thread, where Python delivers no signals, nor to a signal that is ignored (``nohup``) or
    has a handler of the caller's own.

    Attributes:
        received: the signal that requested it, or None.
    """

    def __init__(self, on_request: Callable[[], None], signals: Iterable[int] = CTRL_C):
        self.received: int | None = None
        self._on_request = on_request
        self._signals = tuple(signals)
        self._before: dict[int, Any] = {}
        self._at = 0.0

    @property
    def requested(self) -> bool:
        return self.received is not None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for one in self._signals:
                if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[one] = signal.signal(one, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            if monotonic() - self._at > SAME_REQUEST:
                raise SystemExit(128 + number)
            return
        self.received, self._at = number, monotonic()
        self._on_request()
