"""A wait with an end: after a second it says for what, and after its limit it is over."""

from __future__ import annotations

import sys
from time import monotonic, sleep

LIMIT = 60.0  # seconds; a save takes one or two under its lock, and longer on slow disks
SAID_AFTER = 1.0
LOOK_EVERY = 0.05


class Wait:
    """``limit``: in seconds, by default ``LIMIT``; it may be lowered on the way."""

    def __init__(self, limit: float | None = None):
        self.limit = LIMIT if limit is None else limit
        self._start, self._said = monotonic(), False

    def is_over(self, what: str) -> bool:
        """Tell whether the limit has passed; ``what`` is waited for, as in ``Waiting for WHAT``."""
        waited = monotonic() - self._start
        if SAID_AFTER <= waited < self.limit and not self._said:
            self._said = True
            print(f"Waiting for {what} ({self.limit:g} seconds at most).", file=sys.stderr, flush=True)
        return waited >= self.limit

    def pause(self) -> None:
        sleep(min(LOOK_EVERY, self.limit))
