"""Putting what was proven where the user wants it: whole, or not at all, and over nothing unless told."""

from __future__ import annotations

import filecmp
import os
from functools import partial
from pathlib import Path

from ...errors import PortError
from ...files.locks import locked
from ...files.unbroken import unbroken
from ...files.whole_file import is_new_file, is_special, place_files
from ...files.whole_folder import check_names, place_folder
from ..families import Family
from ..formats import FORMATS
from ..safety.port_errors import system_errors, unwritten
from .targets import FOLDERS, Target

SHOWN = 5  # names of a folder that is not replaced


def real_place(destination: Path) -> Path:
    """Where a link leads, as ``cp`` takes it: it stays, and what it leads to is replaced. The name of ``.`` and ``..``."""
    link = destination.is_symlink() and (destination.is_file() or destination.is_dir())
    return destination.resolve() if link or destination.name in ("", "..") else destination


def check_suffix(destination: Path, target: Target) -> None:
    """Refuse a name that the framework's own loader would refuse."""
    row = FORMATS[target.format] if target.format else None
    if row is not None and row.needs_suffix and not destination.name.endswith(row.suffix):
        raise PortError(
            f"The name of {row.title} must end in {row.suffix}, for its own loader takes no other, got {destination.name}."
        )


def check_destination(destination: Path, target: Target, force: bool) -> None:
    """Refuse what would lose something: before any work, and again while nobody else can change it."""
    if not os.path.lexists(destination):
        return
    if not force and not _holds_nothing(destination):
        raise _is_there(destination)
    if is_special(destination) or not destination.exists():
        what = "a device, a pipe or a socket" if destination.exists() else "a link that leads nowhere"
        raise PortError(f"{destination} must be a file or a folder, got {what}: not even force replaces that.")
    folder = target.format is None
    if destination.is_dir() != folder:
        kinds = ("a folder", "a file") if folder else ("a file", "a folder")
        raise PortError(f"{destination} must be {kinds[0]}, got {kinds[1]}: not even force replaces that.")
    if folder:
        _check_folder(destination, target.family)


def _holds_nothing(destination: Path) -> bool:
    """An empty file or folder, such as ``mktemp`` makes; its kind is looked at all the same."""
    return is_new_file(destination) or (destination.is_dir() and not any(destination.iterdir()))


def _is_there(path: Path) -> PortError:
    return PortError(f"{path} must be new, but it is there already: nothing is written. Only force (--force) replaces it.")


def kind_of(folder: Path) -> Family | None:
    """What ``--to`` writes such a folder; None for what no port writes."""
    return next((row for row in FOLDERS.values() if row.module.recognize(folder)), None)


def _check_folder(folder: Path, family: Family) -> None:
    """Of a folder of the same kind we know what belongs to the old model; of any other we do not."""
    with system_errors(f"{folder} cannot be replaced"):
        names = sorted(os.listdir(folder))
        kind = kind_of(folder) if names else family
        check_names(folder, family.files)
    if folder.is_mount():
        raise PortError(f"{folder} is a mount point, which cannot be replaced as a whole: name a folder inside it.")
    if kind is not family:
        listed = f"{', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"
        holds = f"a {kind.title}" if kind else f"something else ({listed:.300})"
        raise PortError(f"{folder} must hold a {family.title}, got {holds}: not even force replaces that.")


def put_in_place(stage: Path, destination: Path, target: Target, force: bool) -> None:
    """Move what lies in the stage, all or nothing: a folder, or a file and those that belong to it."""
    with unwritten(destination):
        try:
            if target.format is None:
                _place_folder(stage / destination.name, destination, target, force)
            else:
                _place_files(stage, destination, target, force)
        except FileExistsError as error:
            if force:
                raise
            raise _is_there(Path(error.filename)) from None


def _place_folder(new: Path, destination: Path, target: Target, force: bool) -> None:
    ours = {*target.family.files, *os.listdir(new)}
    place_folder(new, destination, ours, partial(check_destination, target=target, force=force))


def _place_files(stage: Path, destination: Path, target: Target, force: bool) -> None:
    files = sorted(stage.iterdir(), key=lambda file: file.name == destination.name)
    with locked(destination.parent), unbroken():
        files = [file for file in files if file.name == destination.name or not _is_same(file, destination.parent / file.name)]
        for file in files:
            check_destination(destination.parent / file.name, target, force)
        place_files(files, destination.parent, force)


def _is_same(file: Path, final: Path) -> bool:
    """Such as the configuration that a model has written beside another of its containers."""
    return final.is_file() and not final.is_symlink() and filecmp.cmp(file, final, shallow=False)
