"""Where a checkpoint is to go, looked at before the work."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..checkpoint import check_destination
from ..checkpoint.files import FILES, holds_checkpoint
from ..errors import CheckpointError
from ..files.staging import staged
from ..files.whole_folder import tidied


def check_folder(name: str | PathLike[str] | None, resume: bool, force: bool) -> Path | None:
    """The folder, found to be new (unless ``force`` replaces a checkpoint or ``resume`` continues it) and writable.

    None is no folder. Raises CheckpointError.
    """
    if name is None:
        return None
    folder = Path(name)
    if not str(name):
        raise CheckpointError("The folder of the checkpoint must have a name, got ''.")
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


def check_still_new(folder: Path) -> None:
    """Refuse a checkpoint that came while this training ran, such as that of another one that began at the same time."""
    check_destination(folder)
    if holds_checkpoint(folder):
        raise CheckpointError(
            f"{folder} held no checkpoint when this training began, but another training has written there meanwhile: it "
            "stays as it is, and this training is not saved. Train again with another folder."
        )
