"""Hidden folders for unfinished files, beside the place they are meant for, which no other process touches."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .own_names import PREFIX, is_stage, stage_name
from .unbroken import taken_back, unbroken


@contextmanager
def staged(parent: Path) -> Iterator[Path]:
    """A new hidden folder in ``parent``, gone afterwards; those that killed processes have left there go with it.

    A process holds the lock of its folder while it lives: a folder that can be locked has no owner any more. Raises OSError.
    """
    _remove_abandoned(parent)
    mine: list[tuple[Path, int]] = []

    def remove() -> None:
        while mine:
            stage, lock = mine.pop()
            shutil.rmtree(stage, ignore_errors=True)
            os.close(lock)

    with taken_back(remove):
        with unbroken():
            mine.append(_locked_folder(parent))
        yield mine[0][0]


def _locked_folder(parent: Path) -> tuple[Path, int]:
    while True:
        stage = parent / stage_name()
        stage.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            lock = os.open(stage, os.O_RDONLY)
            if _lock(lock) and stage.exists():
                return stage, lock
            os.close(lock)  # another process took it for abandoned before it was locked


def _lock(descriptor: int) -> bool:
    """Lock a folder without waiting. Some network file systems lock no folders, and there nothing is removed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _remove_abandoned(parent: Path) -> None:
    with suppress(OSError):
        for entry in [entry for entry in os.scandir(parent) if is_stage(entry.name)]:
            with suppress(OSError):
                lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.fstat(lock).st_uid == os.geteuid():
                        shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(lock)


def finish(new: Path, old: Path) -> None:
    """Flush a file, or a folder and its files, to the disk, with the permissions of what it is to replace.

    Where there is nothing to replace, a file has those of any new file: some libraries make theirs private.
    """
    if new.is_dir():
        for entry in new.iterdir():
            finish(entry, old / entry.name)
    replaces = stat.S_ISDIR if new.is_dir() else stat.S_ISREG
    if old.exists() and replaces(old.stat().st_mode):
        new.chmod(stat.S_IMODE(old.stat().st_mode))
    elif not new.is_dir():
        new.chmod(_mode_of_a_new_file(new))
    sync(new)


def _mode_of_a_new_file(beside: Path) -> int:
    """Return the mode that the umask gives, which cannot be read without changing it for all threads."""
    probe = beside.with_name(f"{PREFIX}mode")
    descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)
        probe.unlink()


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def made_parents(destination: Path) -> Iterator[None]:
    """The folders above a destination, as ``train --out`` makes them, with their names on the disk.

    Those that were not there go when nothing comes of it.
    """
    missing = [folder for folder in destination.parents if not folder.exists()]

    def remove() -> None:
        for folder in missing:
            with suppress(OSError):  # another process uses it by now
                folder.rmdir()

    with taken_back(remove):
        destination.parent.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync(folder.parent)
        yield
        missing.clear()
