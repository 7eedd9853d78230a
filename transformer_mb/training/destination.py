"""The destination of a checkpoint, looked at before the work."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path

from ..checkpoint import check_destination
from ..checkpoint.files import FILES, TRAINER, check_folder_name, holds_checkpoint, read_object
from ..errors import CheckpointError
from ..files.locks import LockHeldError, locked
from ..files.staging import made_parents, staged
from ..files.whole_folder import current_folder, tidied

SAVE = "save"  # in trainer.json: an id of each save


def check_folder(name: str | PathLike[str] | None, resume: bool, force: bool) -> Path | None:
    """The folder, checked to be new (unless ``force`` replaces a checkpoint or ``resume`` continues it) and writable.

    None is no folder. Raises CheckpointError.
    """
    if name is None:
        return None
    folder = Path(name)
    if not str(name):
        raise CheckpointError("The folder of the checkpoint must have a name, got ''.")
    check_folder_name(name)
    if not resume:
        check_destination(folder)
        if holds_checkpoint(folder) and not force:
            raise CheckpointError(
                f"{folder} holds a checkpoint already: resume=True (--resume) continues it, force=True (--force) replaces it."
            )
    absolute = folder.absolute()
    there = next(place for place in (absolute.parent, *absolute.parents) if place.exists())
    try:
        with staged(there):
            tidied(folder, FILES)
    except OSError as error:
        raise CheckpointError(
            f"{folder} cannot be created: {there} must be a folder that may be written to, but: {error.strerror}."
        ) from None
    return folder


def contents(folder: Path) -> str:
    """Return what tells one save of a training from every other; "" where there is no checkpoint."""
    if not holds_checkpoint(folder):
        return ""
    place = current_folder(folder)
    try:
        saved = read_object(place / TRAINER).get(SAVE)
        return saved if isinstance(saved, str) else hashlib.sha256((place / TRAINER).read_bytes()).hexdigest()
    except (CheckpointError, OSError):
        return "a model alone"


def check_as_found(folder: Path, found: str) -> None:
    """Refuse a folder that holds another checkpoint than it did, such as that of a training which went on in another place."""
    check_destination(folder)
    if contents(folder) not in ("", found):
        raise CheckpointError(
            f"{folder} held {'another' if found else 'no'} checkpoint when this training looked last, but another training has "
            "written there meanwhile: it stays as it is, and this training is not saved. Train again with another folder, or "
            "resume from what is there."
        )


def check_untrained(folder: Path) -> None:
    """Refuse a folder that a training of another process writes to now; raises CheckpointError."""
    if folder.absolute().parent.is_dir():
        with _lock_of(folder):
            pass


@contextmanager
def trained_alone(folder: Path, found: str) -> Iterator[None]:
    """Let no other training begin in the folder, which holds what was ``found`` there; raises CheckpointError."""
    with made_parents(folder.absolute()), _lock_of(folder):
        check_as_found(folder, found)
        yield


@contextmanager
def _lock_of(folder: Path) -> Iterator[None]:
    place = folder.resolve()
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(place.parent, place.name, "training", limit=0.0))
        except LockHeldError as error:
            raise CheckpointError(
                f"{folder} must be a folder that no other training writes to, but {error.strerror}: wait for its end, "
                "end it, or name another folder."
            ) from None
        yield
