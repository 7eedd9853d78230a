"""Two renames that a system makes in one step: names exchanged, and a name given only where there is none yet."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

AT_FDCWD = -100
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2  # linux/fs.h
NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


def exchange(first: Path, second: Path) -> bool:
    """Swap two files or folders in one system call; False where the system or the file system does not offer it."""
    return _renamed(first, second, RENAME_EXCHANGE)


def rename_new(path: Path, new: Path) -> None:
    """Rename, and never replace what has come there in between; raises FileExistsError."""
    if _renamed(path, new, RENAME_NOREPLACE):
        return
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
    os.rename(path, new)


def _renamed(first: Path, second: Path, flag: int) -> bool:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    if function(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_OFFERED:
        return False
    raise OSError(code, os.strerror(code), str(second))
