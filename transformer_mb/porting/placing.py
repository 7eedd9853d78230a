"""Putting what was proven where the user wants it: whole, or not at all, and over nothing unless told."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..atomic_folder import replaced_folder
from ..checkpoint_files import FILES
from ..errors import PortError


def check_destination(destination: Path, folder: bool, force: bool) -> None:
    """Refuse, before any work, what would lose something."""
    if not destination.parent.is_dir():
        raise PortError(f"The folder {destination.parent} of the destination must be there, but it is not.")
    if not os.path.lexists(destination):
        return
    if not force:
        raise PortError(f"{destination} must be new, but it is there already: nothing is written. --force replaces it.")
    if destination.is_dir() != folder:
        kinds = ("a folder", "a file") if folder else ("a file", "a folder")
        raise PortError(f"{destination} is to be {kinds[0]}, but it is {kinds[1]}: not even --force replaces that.")


@contextmanager
def staged(destination: Path) -> Iterator[Path]:
    """A hidden folder beside the destination, on the same file system, which is gone afterwards."""
    try:
        stage = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    except OSError as error:
        raise PortError(f"{destination.parent} cannot be written to: {error.strerror or error}.") from None
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def put_in_place(stage: Path, destination: Path, force: bool) -> None:
    """Move everything in the stage beside or onto the destination; the file or folder named like it comes last."""
    entries = sorted(stage.iterdir(), key=lambda entry: entry.name == destination.name)
    for entry in entries:
        check_destination(destination.parent / entry.name, entry.is_dir(), force)
    for entry in entries:
        final = destination.parent / entry.name
        try:
            _place_folder(entry, final) if entry.is_dir() else _place_file(entry, final, force)
        except OSError as error:
            raise PortError(f"{final} cannot be written: {error.strerror or error}.") from None


def _place_file(entry: Path, final: Path, force: bool) -> None:
    with entry.open("rb") as file:
        os.fsync(file.fileno())
    if force:
        os.replace(entry, final)
        return
    try:
        os.link(entry, final)  # unlike a rename, this never replaces a file that came in between
    except FileExistsError:
        raise PortError(f"{final} must be new, but it is there already: nothing is written. --force replaces it.") from None
    except OSError:
        os.rename(entry, final)  # a file system without hard links


def _place_folder(entry: Path, final: Path) -> None:
    files = {path.name for path in entry.iterdir()}
    with replaced_folder(final, {*files, *FILES}) as temporary:
        for path in entry.iterdir():
            os.rename(path, temporary / path.name)
