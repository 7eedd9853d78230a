"""Locks on places in the file system: one process at a time. A process that waits says for which, and gives up after a time.

A lock is that of a hidden file of the project's own, so that ``flock FOLDER transformer-mb ...`` does not wait for itself. The
system frees it when its process ends in any way, and its next owner removes the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import waiting
from .own_names import name_beside
from .unbroken import taken_back, unbroken
from .waiting import Wait


class LockHeldError(TimeoutError):
    """An OSError whose ``strerror`` says which process holds a lock."""


@contextmanager
def locked(folder: Path, name: str = "", kind: str = "lock", limit: float | None = None) -> Iterator[None]:
    """Let one process at a time have what is called ``name`` in a folder; each ``kind`` is a lock of its own.

    Where the file system has no locks, or nothing can be written, there is none. Raises LockHeldError after ``limit`` seconds,
    by default ``waiting.LIMIT``.
    """
    path = folder / name_beside(kind, name)
    held: list[int] = []

    def release() -> None:
        while held:
            descriptor = held.pop()
            with suppress(OSError):
                os.unlink(path)
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # for a child too that was forked meanwhile
            os.close(descriptor)

    with taken_back(release):
        _acquire(path, folder / name, Wait(limit), held)
        yield


def _acquire(path: Path, place: Path, wait: Wait, held: list[int]) -> None:
    while True:
        with unbroken():
            holder, stopped = _attempt(path, held)
        if not holder:
            return
        if stopped:
            wait.limit = min(wait.limit, waiting.LIMIT)
        if wait.is_over(f"{holder}, which has the lock of {place}"):
            kept = f", and kept it for {wait.limit:g} seconds" if wait.limit else ""
            raise LockHeldError(errno.ETIMEDOUT, f"{holder} has the lock of {place}{kept}", str(place))
        wait.pause()


def _attempt(path: Path, held: list[int]) -> tuple[str, bool]:
    """Try without waiting: add the descriptor to ``held``, or say who has the lock, and whether that one is stopped."""
    while (descriptor := _opened(path)) is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(descriptor)
            os.close(descriptor)
            return holder
        except OSError:  # some network file systems
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(path)
            break
        if _is_there(descriptor, path):
            _sign(descriptor)
            held.append(descriptor)
            break
        os.close(descriptor)  # its last owner has removed it
    return "", False


def _opened(path: Path) -> int | None:
    for mode in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):  # another user's file may be locked, but not written
        with suppress(OSError):
            return os.open(path, mode | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    return None


def _is_there(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    with suppress(OSError):  # a full disk
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)


def _holder(descriptor: int) -> tuple[str, bool]:
    """Name the process that holds a lock, as far as it is known, and tell whether it is stopped."""
    try:
        pid, host = os.pread(descriptor, 400, 0).decode().split()
        process = Path(f"/proc/{int(pid)}")
    except (OSError, ValueError):
        return "another process", False
    if host != socket.gethostname():
        return f"process {pid} on {host}", False
    if int(pid) == os.getpid():
        return "this process itself", False
    try:
        words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").split()
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return f"process {pid}", False
    stopped = state in "tT"
    return (
        f"process {pid} ({' '.join(words):.120}){', which is stopped (kill -CONT lets it go on),' if stopped else ''}",
        stopped,
    )
