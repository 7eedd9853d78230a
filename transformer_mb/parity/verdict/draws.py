"""Draws of rounding errors: columns ask for them at the same time, and each is made once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Draw = TypeVar("Draw")


class Draws(Generic[Draw]):
    """``draw`` makes one by its number: that of the case itself is 0, that of its perturbed copy n is n + 1."""

    def __init__(self, draw: Callable[[int], Draw]):
        self._draw, self._lock = draw, threading.Lock()
        self.made: list[Draw] = []

    def with_copies(self, copies: int) -> list[Draw]:
        """Return the draws of the case and of so many of its copies."""
        with self._lock:
            self.made += [self._draw(number) for number in range(len(self.made), copies + 1)]
            return self.made[: copies + 1]
