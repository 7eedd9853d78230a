"""Progress of a corpus: how fast it is translated, and how long the rest will take at that."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..printable import counted

MINUTE, HOUR = 60.0, 3600.0


class Progress:
    """The report on each shard.

    Args:
        lines: of all shards that this command is to translate. clock: seconds.
    """

    def __init__(self, lines: int, clock: Callable[[], float] = time.monotonic):
        self.lines, self.clock, self.start = lines, clock, clock()
        self.done = self.tokens = self.long = self.unended = 0

    def told(self, answer: dict[str, Any]) -> str:
        """Count a shard's answer: ``10,000 lines, 120,000 tokens on a; 3,400 tokens/s, 12 min left``."""
        self.done += answer["lines"]
        self.tokens += answer["tokens"]
        self.long += answer["long"]
        self.unended += answer["unended"]
        seconds = max(self.clock() - self.start, 1e-9)
        left = in_words((self.lines - self.done) * seconds / self.done)
        own = f"{counted(answer['lines'], 'line')}, {counted(answer['tokens'], 'token')} on {answer['host']}"
        return f"{own}; {self.tokens / seconds:,.0f} tokens/s, {left} left"


def in_words(seconds: float) -> str:
    """Seconds as ``40 s``, ``12 min`` or ``3.5 h``."""
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < HOUR else f"{seconds / HOUR:.1f} h"
