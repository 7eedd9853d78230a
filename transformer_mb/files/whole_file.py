"""Write files whole or not at all: a reader finds the old content or the new, never half of either.

Regular files alone are replaced. A link is followed, as by ``cp``: it stays, and what it leads to is replaced. The folders
above a file are made.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import DestinationError
from . import renames
from .own_names import PREFIX
from .pipes import open_to_write
from .staging import finish, made_parents, staged, sync


def check_result_file(path: Path | None, force: bool, never: Iterable[Path | str | None] = ()) -> None:
    """Find out before any work whether a result can be written to a file, which only ``force`` replaces.

    Pipes and devices, such as /dev/stdout, are written to and not replaced. None is no file. Raises OSError as opening it
    would, and DestinationError.

    Args:
        never: what else the command reads or writes, files and folders: not even ``force`` replaces a part of it.
    """
    if path is None:
        return
    check_apart(path, never)
    check_writable(path)
    if not force:
        check_new(path)


def check_apart(path: Path | None, never: Iterable[Path | str | None]) -> None:
    """Refuse a file that is one of ``never``, or that lies inside a folder of them; raises DestinationError."""
    if path is None or is_special(path) or is_stream(path):
        return
    other = part_of(path, never)
    if other is not None:
        what = f"lies inside {other}" if other.resolve() != path.resolve() else f"is {other}"
        raise DestinationError(
            f"A result must go to a file apart from all else that the command reads and writes, got {path}, which {what}: "
            "not even --force replaces that. Name another file."
        )


def part_of(path: Path, others: Iterable[Path | str | None]) -> Path | None:
    """The first of ``others`` that is this path, or a folder above it, links followed; None: it is apart from them all."""
    place = path.resolve()
    places = (place, *place.parents)
    return next((Path(one) for one in others if one is not None and Path(one).resolve() in places), None)


def is_new_file(path: Path) -> bool:
    """Tell whether a file may come there and nothing is lost: there is none, or an empty one, such as ``mktemp`` makes."""
    return not os.path.lexists(path) or (path.is_file() and not path.stat().st_size)


def check_new(path: Path) -> None:
    """Refuse a file that is there already and holds anything; raises DestinationError."""
    if path.is_file() and not is_new_file(path) and not is_stream(path):
        raise DestinationError(
            f"{path} must be a new file, but there is one already: name another one, or replace it with --force."
        )


def check_writable(path: Path | None) -> None:
    """Find out before any work that a file cannot be written; raises OSError as opening it would. None is no file."""
    if path is None:
        return
    folder = path.resolve().parent
    folder = next(one for one in (folder, *folder.parents) if one.exists())  # those below it are made
    problems = {
        errno.EISDIR: path.is_dir(),
        errno.ENOTDIR: not folder.is_dir(),
        errno.EACCES: not os.access(path if is_special(path) else folder, os.W_OK),
    }
    for code, holds in problems.items():
        if holds:
            raise OSError(code, os.strerror(code), str(path))
    if not is_special(path) and not is_stream(path):
        try:
            with staged(folder):  # some folders, such as those of /proc, look as if they took files
                pass
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None


def is_special(path: Path) -> bool:
    """Tell whether something is there, or where a link leads, that is neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_stream(path: Path) -> bool:
    """Tell whether a name such as /dev/stdout or /dev/fd/3 stands for what is open already, be it a file."""
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
    if is_special(path) or is_stream(path):
        try:
            with open_to_write(path) as file:
                yield file
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror, str(path)) from error
        return
    final = path.resolve()
    stage = final.parent / PREFIX
    try:
        with made_parents(final), staged(final.parent) as stage:
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

    The caller holds the folder's lock. Without ``replace`` one that is there already, and holds anything, raises
    FileExistsError.
    """
    for file in files:
        finish(file, folder / file.name)
    placed: list[tuple[Path, Path]] = []
    try:
        for file in files:
            final = folder / file.name
            if final.exists() and (replace or is_new_file(final)):
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
    """Put the new content in place, and the old where the new one was, so that it can be put back."""
    if renames.exchange(file, final):
        return
    kept = file.with_name(f"{file.name}.old")
    try:
        os.link(final, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(final, kept)
    os.replace(file, final)
    os.rename(kept, file)
