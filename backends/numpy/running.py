"""Switches of all layers, which other frameworks bring: whether they remember what backward needs, and whether they train."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Running(threading.local):
    """Switches of all layers, in each thread for itself: several threads may then decode with one model.

    ``recording``: forward remembers what backward needs. ``training``: the mode of all layers; None where each has its own.
    """

    recording = True
    training: bool | None = None


running = _Running()


@contextmanager
def no_gradients() -> Iterator[None]:
    """Inside, forward remembers nothing, so that memory is free at once."""
    before, running.recording = running.recording, False
    try:
        yield
    finally:
        running.recording = before


@contextmanager
def in_mode(training: bool) -> Iterator[None]:
    """Inside, all layers train or evaluate, whatever the mode of each."""
    before, running.training = running.training, training
    try:
        yield
    finally:
        running.training = before
