"""The folders above what is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .staging import sync


@contextmanager
def made_parents(destination: Path) -> Iterator[None]:
    """The folders above a destination, as ``train --out`` makes them, with their names on the disk.

    Those that were not there go when nothing comes of it.
    """
    missing = [folder for folder in destination.parents if not folder.exists()]
    destination.parent.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync(folder.parent)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # somebody else uses them by now
            for folder in missing:
                folder.rmdir()
        raise
