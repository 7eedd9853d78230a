"""The folders above what is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .staging import sync
from .unbroken import taken_back


@contextmanager
def made_parents(destination: Path) -> Iterator[None]:
    """The folders above a destination, as ``train --out`` makes them, with their names on the disk.

    Those that were not there go when nothing comes of it.
    """
    missing = [folder for folder in destination.parents if not folder.exists()]

    def remove() -> None:
        for folder in missing:
            with suppress(OSError):  # somebody else uses it by now
                folder.rmdir()

    with taken_back(remove):
        destination.parent.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync(folder.parent)
        yield
        missing.clear()
