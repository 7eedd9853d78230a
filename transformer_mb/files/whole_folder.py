"""Replace a folder as a whole: a reader finds the old one or the new one, never half of either.

The new content is written aside, flushed to the disk, and then exchanged with the old folder in one system call. Where
there is no such call, two renames do it, and ``current_folder`` and ``recover`` know what a process that was killed
between them leaves behind.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, TypeVar

from . import renames
from .locks import locked
from .own_names import name_beside
from .staging import finish, made_parents, staged, sync
from .unbroken import unbroken

T = TypeVar("T")


class Siblings(NamedTuple):
    """Hidden folders next to the one that is saved; each exists for a moment only.

    ready: the new content complete, and after the exchange the old one. previous: the old one between two renames.
    """

    ready: Path
    previous: Path


def siblings(folder: Path) -> Siblings:
    return Siblings(*(folder.with_name(name_beside(state, folder.name)) for state in Siblings._fields))


@contextmanager
def replaced_folder(folder: Path, ours: Collection[str], check: Callable[[Path], None] = lambda folder: None) -> Iterator[Path]:
    """A temporary folder to write into; leaving the block without an error puts it in the place of ``folder``.

    Args:
        ours, check: see ``place_folder``.
    """
    folder = folder.resolve()
    with made_parents(folder), staged(folder.parent) as stage:
        new = stage / folder.name
        new.mkdir()
        yield new
        place_folder(new, folder, ours, check)


def place_folder(new: Path, folder: Path, ours: Collection[str], check: Callable[[Path], None]) -> None:
    """Put a complete folder in the place of ``folder``, which is not a link.

    Args:
        ours: names and patterns of all files that a folder of this kind can hold. Those of the old folder go with it.
            Whatever else lies there (a user's log) moves into the new one.
        check: called with ``folder`` while no other process can change it; what it raises leaves everything as it is.
    """
    finish(new, folder)
    with locked(folder.parent, folder.name), unbroken():
        recover(folder, ours)
        try:
            check(folder)
            check_names(folder, ours)
            _put_in_place(new, folder)
            sync(folder.parent)
        finally:
            recover(folder, ours)


def tidied(folder: Path, ours: Collection[str]) -> None:
    """Remove what a save that was killed has left beside a folder: no later save may come that would. Raises LockHeldError."""
    folder = folder.resolve()
    if any(path.exists() for path in siblings(folder)):
        with locked(folder.parent, folder.name), unbroken():
            recover(folder, ours)


def check_names(folder: Path, ours: Collection[str]) -> None:
    """Refuse a folder, a pipe or a device under the name of one of our files: it cannot be replaced by a file."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if _is_ours(entry, ours) and stat.S_IFMT(entry.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
            raise OSError(errno.EISDIR, f"{entry.name} in it must be a file, but it is not: move it away", str(entry))


def recover(folder: Path, ours: Collection[str]) -> None:
    """Remove what a save leaves behind: the old folder, or after a failure (or a kill) what was begun.

    The caller holds the lock.
    """
    ready, previous = siblings(folder)
    if not folder.exists() and previous.exists():
        os.rename(previous, folder)
    if not folder.exists() and ready.exists():  # a first save, or a folder that was deleted since
        shutil.rmtree(ready)
    for stale in (ready, previous):
        if stale.exists():
            _retire(stale, folder, ours)


def current_folder(folder: Path) -> Path:
    """Find the content: ``folder``, or the sibling that two interrupted renames have left it in."""
    previous = siblings(folder.resolve()).previous
    return previous if not folder.exists() and previous.exists() else folder


def read_unchanged(folder: Path, read: Callable[[Path], T], attempts: int = 100) -> T:
    """``read(folder)``, once more whenever the folder was replaced meanwhile, so that all files are of one save."""
    for _ in range(attempts):
        place = current_folder(folder)
        before = _identity(place)
        try:
            result = read(place)
        except Exception:
            if _identity(current_folder(folder)) == before:
                raise
            continue
        if _identity(current_folder(folder)) == before:
            return result
    raise OSError(errno.EBUSY, "the folder is being replaced all the time", str(folder))


def _identity(folder: Path) -> tuple[int, ...] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _put_in_place(new: Path, folder: Path) -> None:
    ready, previous = siblings(folder)
    if not folder.exists():
        renames.rename_new(new, folder)
        return
    os.rename(new, ready)
    if not renames.exchange(ready, folder):
        os.rename(folder, previous)
        os.rename(ready, folder)


def _is_ours(entry: Path, ours: Collection[str]) -> bool:
    return any(fnmatchcase(entry.name, name) for name in ours)


def _free_name(path: Path) -> Path:
    while os.path.lexists(path):
        path = path.with_name(f"{path.name}.old")
    return path


def _retire(old: Path, folder: Path, ours: Collection[str]) -> None:
    """Remove a folder that was replaced, or did not get to its place; what is not ours moves to ``folder``."""
    try:
        for entry in old.iterdir():
            if _is_ours(entry, ours) and (entry.is_symlink() or not entry.is_dir()):
                entry.unlink()
            else:  # and nothing is lost where another process has begun a new one in between
                os.rename(entry, _free_name(folder / entry.name))
        old.rmdir()
    except OSError as error:  # such as a file that cannot be removed; hidden it would stop every later save
        left = _free_name(folder.with_name(f"{folder.name}.old"))
        os.rename(old, left)
        raise OSError(error.errno, f"{error.strerror}; what is left of the old folder is {left}", str(folder)) from error
