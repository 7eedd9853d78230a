"""How far a command has come, on standard error: a line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY = 30.0  # seconds between two lines in a file or a pipe


class Counting:
    """A context; ``tell`` says what is done."""

    def __init__(self) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        self.status: Any = console.status("starting") if console.is_terminal else None
        self.told = time.monotonic()

    def __enter__(self) -> Counting:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.status is not None:
            self.status.stop()

    def tell(self, text: str) -> None:
        if self.status is not None:
            self.status.update(text)
        elif time.monotonic() - self.told >= EVERY:
            self.told = time.monotonic()
            print(text, file=sys.stderr, flush=True)
