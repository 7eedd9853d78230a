"""Write files whole or not at all: whoever reads one finds the old content or the new, never half of either.

Regular files alone are replaced. A link is followed, as by ``cp``: it stays, and what it leads to is replaced.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import DestinationError
from . import renames
from .staging import PREFIX, finish, staged, sync


def check_result_file(path: Path | None, force: bool) -> None:
    """Find out before any work whether a result can be written to a file, which only ``force`` replaces.

    Pipes and devices, such as /dev/stdout, are written to and not replaced. None is no file. Raises OSError as opening it
    would, and DestinationError.
    """
    check_writable(path)
    if path is not None and not force:
        check_new(path)


def check_new(path: Path) -> None:
    """Refuse a file that is there already; raises DestinationError."""
    if path.is_file() and not _is_stream(path):
        raise DestinationError(
            f"{path} must be a new file, but there is one already: name another one, or replace it with --force."
        )


def check_writable(path: Path | None) -> None:
    """Find out before any work that a file cannot be written; raises OSError as opening it would. None is no file."""
    if path is None:
        return
    folder = path.resolve().parent
    problems = {
        errno.EISDIR: path.is_dir(),
        errno.ENOENT: not folder.exists(),
        errno.ENOTDIR: not folder.is_dir(),
        errno.EACCES: not os.access(path if is_special(path) else folder, os.W_OK),
    }
    for code, holds in problems.items():
        if holds:
            raise OSError(code, os.strerror(code), str(path))
    if not is_special(path) and not _is_stream(path):
        try:
            with staged(folder):  # some folders, such as those of /proc, look as if they took files
                pass
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None


def is_special(path: Path) -> bool:
    """Whether something is there, or where a link leads, that is neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _is_stream(path: Path) -> bool:
    """Whether a name such as /dev/stdout or /dev/fd/3 stands for what is open already, be it a file."""
    return path.is_symlink() and path.absolute().parts[1] in ("dev", "proc")


def write_whole(path: Path, text: str) -> None:
    with replaced_file(path) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def replaced_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` when the block ends without an error.

    A pipe or a device, such as /dev/stdout, is written to and never replaced. Raises OSError.
    """
    check_writable(path)
    if is_special(path) or _is_stream(path):
        with path.open("wb") as file:
            yield file
        return
    final = path.resolve()
    stage = final.parent / PREFIX
    try:
        with staged(final.parent) as stage:
            new = stage / final.name
            with new.open("wb") as file:
                yield file
            finish(new, final)
            os.replace(new, final)
            sync(final.parent)
    except OSError as error:
        if error.errno is None or not str(error.filename or stage).startswith(str(stage)):
            raise  # one of the block's own
        raise OSError(error.errno, error.strerror, str(path)) from error


def place_files(files: Sequence[Path], folder: Path, replace: bool) -> None:
    """Move complete files to ``folder``, what they all belong to last: all of them, or none.

    The caller holds the folder's lock. Without ``replace`` one that is there already raises FileExistsError.
    """
    for file in files:
        finish(file, folder / file.name)
    placed: list[tuple[Path, Path]] = []
    try:
        for file in files:
            final = folder / file.name
            if replace and final.exists():
                _swap(file, final)
            else:
                renames.rename_new(file, final)
            placed.append((file, final))
    except BaseException:
        for file, final in reversed(placed):
            if file.exists():  # what was there before
                os.replace(file, final)
            else:
                final.unlink()
        raise
    sync(folder)


def _swap(file: Path, final: Path) -> None:
    """Afterwards the old content lies where the new one was, so that it can be put back."""
    if renames.exchange(file, final):
        return
    kept = file.with_name(f"{file.name}.old")
    try:
        os.link(final, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(final, kept)
    os.replace(file, final)
    os.rename(kept, file)
