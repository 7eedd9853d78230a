"""The progress of a command, on standard error: a line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Self

EVERY = 30.0  # seconds between two lines in a file or a pipe


class Counting:
    """A context; ``tell`` says what is done, from any thread. A call after its end shows nothing."""

    def __init__(self) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        self.status: Any = console.status("starting") if console.is_terminal else None
        self.lock = threading.RLock()
        self.began = self.told = time.monotonic()
        self.ended = False

    def __enter__(self) -> Self:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(self, *error: Any) -> None:
        with self.lock:
            self.ended = True
        if self.status is not None:
            self.status.stop()

    def tell(self, text: str, now: bool = False) -> None:
        """``now``: elsewhere too, however short ago the last line was."""
        from ..printable import printable

        with self.lock:
            if self.ended:
                return
            if self.status is not None:
                from rich.text import Text

                self.status.update(Text(printable(text)))
            elif now or time.monotonic() - self.told >= EVERY:
                self.told = time.monotonic()
                print(printable(text), file=sys.stderr, flush=True)
