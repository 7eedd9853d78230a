"""Replace a folder as a whole: whoever reads it finds the old one or the new one, never half of either.

The new content is written into a sibling folder, flushed to the disk, and then exchanged with the old folder in one
system call. Where there is no such call, two renames do it, and ``current_folder`` and ``recover`` know what a process
that was killed between them leaves behind.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # linux/fs.h
NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


class Siblings(NamedTuple):
    """Hidden folders next to the one that is saved; each exists for a moment only.

    writing: unfinished. ready: the new content complete, and after the exchange the old one. previous: the old one
    between two renames.
    """

    writing: Path
    ready: Path
    previous: Path


def siblings(folder: Path) -> Siblings:
    return Siblings(*(folder.with_name(f".{folder.name}.{state}") for state in Siblings._fields))


@contextmanager
def replaced_folder(folder: Path, ours: Collection[str]) -> Iterator[Path]:
    """A temporary folder to write into; leaving the block without an error puts it in the place of ``folder``.

    Args:
        ours: names of the files that a folder of this kind holds. Whatever else lies in the old folder (somebody's
            log) moves into the new one.
    """
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    writing = siblings(folder).writing
    with _locked(folder.parent):
        recover(folder, ours)
        writing.mkdir()
        try:
            yield writing
            _flush(writing)
            _put_in_place(folder)
            _sync(folder.parent)
        finally:
            recover(folder, ours)


def recover(folder: Path, ours: Collection[str]) -> None:
    """Remove what a save leaves behind: the old folder, or after a failure (or a kill) what was begun.

    The caller holds the lock.
    """
    writing, ready, previous = siblings(folder)
    if writing.exists():
        shutil.rmtree(writing)
    if not folder.exists() and previous.exists():
        os.rename(previous, folder)
    if not folder.exists() and ready.exists():  # a first save, or a folder that was deleted since
        shutil.rmtree(ready)
    for stale in (ready, previous):
        if stale.exists():
            _retire(stale, folder, ours)


def current_folder(folder: Path) -> Path:
    """Where the content is: ``folder``, or the sibling that two interrupted renames have left it in."""
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
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


@contextmanager
def _locked(parent: Path) -> Iterator[None]:
    """One save at a time below ``parent``; the system frees the lock of a process that is killed."""
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no folders
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _flush(folder: Path) -> None:
    for path in folder.iterdir():
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_in_place(folder: Path) -> None:
    writing, ready, previous = siblings(folder)
    if folder.exists():
        writing.chmod(folder.stat().st_mode & 0o7777)
    os.rename(writing, ready)
    if not folder.exists():
        os.rename(ready, folder)
    elif not _exchange(ready, folder):
        os.rename(folder, previous)
        os.rename(ready, folder)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one system call; False where the system or the file system does not offer it."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    if function(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_OFFERED:
        return False
    raise OSError(code, os.strerror(code), str(second))


def _retire(old: Path, folder: Path, ours: Collection[str]) -> None:
    """Remove a folder that was replaced, or did not get to its place; what is not ours moves to ``folder``."""
    for entry in old.iterdir():
        if entry.name in ours:
            entry.unlink()
            continue
        target = folder / entry.name
        while os.path.lexists(target):  # somebody has begun a new one in between
            target = target.with_name(f"{target.name}.old")
        os.rename(entry, target)
    old.rmdir()
