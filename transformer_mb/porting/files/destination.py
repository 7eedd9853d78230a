"""Putting what was proven where the user wants it: whole, or not at all, and over nothing unless the user asks for it."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import PortError
from ...files.locks import locked
from ...files.staging import made_parents, staged
from ...files.unbroken import unbroken
from ...files.whole_file import is_new_file, is_special, part_of, place_files
from ...files.whole_folder import check_names, place_folder
from ..formats import FORMATS
from ..formats.shards import files_of
from ..kinds import Family, Settings
from ..safety.port_errors import system_errors, unwritten
from ..settings import VOCABULARIES
from .config_beside import beside
from .sources import Source, resolved
from .targets import FOLDERS, Target

SHOWN = 5  # names of a folder that is not replaced


@dataclass(frozen=True)
class Output:
    """A target and its place, ``named`` as the user calls it; only ``force`` replaces what is there."""

    named: Path
    target: Target
    force: bool = False

    @cached_property
    def destination(self) -> Path:
        """Follow a link, as ``cp`` does: it stays, and what it leads to is replaced. Name what ``.`` and ``..`` are."""
        link = self.named.is_symlink() and (self.named.is_file() or self.named.is_dir())
        return self.named.resolve() if link or self.named.name in ("", "..") else self.named

    def check_suffix(self) -> None:
        """Refuse a name that the framework's own loader would refuse."""
        row, name = self.target.format, self.destination.name
        if row is not None and row.needs_suffix and not name.endswith(row.suffix):
            raise PortError(f"The name of {row.title} must end in {row.suffix}, for its own loader takes no other, got {name}.")

    def check_apart_from(self, source: Path) -> None:
        """Refuse to write over what is ported, or a part of it."""
        source, destination = resolved(source), self.destination
        if destination.exists() and (part_of(destination, parts(source)) or part_of(source, [destination])):
            raise PortError(
                f"The result must go to a place apart from its source, got {destination} for {source}: not even force replaces "
                "a part of it. Name another place."
            )

    def check(self, path: Path) -> None:
        """Refuse what would lose something: before any work, and again while no other process can change it."""
        if not os.path.lexists(path):
            return
        if not self.force and not _holds_nothing(path):
            raise _is_there(path)
        if is_special(path) or not path.exists():
            what = "a device, a pipe or a socket" if path.exists() else "a link that leads nowhere"
            raise PortError(f"{path} must be a file or a folder, got {what}: not even force replaces that.")
        folder = self.target.format is None
        if path.is_dir() != folder:
            kinds = ("a folder", "a file") if folder else ("a file", "a folder")
            raise PortError(f"{path} must be {kinds[0]}, got {kinds[1]}: not even force replaces that.")
        if folder:
            _check_folder(path, self.target.family)

    def check_companions(self, source: Source) -> None:
        """Refuse an optimizer's file of another model beside the new one, which would be taken for its own."""
        suffix = self.target.format.companion if self.target.format else None
        for place in {self.named, self.destination} if suffix and source.model.optimizer is None else ():
            if (companion := place.with_suffix(str(suffix))).exists():
                raise PortError(
                    f"{companion} must not be there: it would be taken for the optimizer's state of {place}, and {source.path} "
                    "has none: move it away."
                )

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Give the place where the result is made, beside its own, whose folders are made too; gone if nothing comes of it."""
        folder = self.destination.parent
        with ExitStack() as kept:
            with system_errors(f"{folder} cannot be written to"):
                kept.enter_context(made_parents(self.destination))
                stage = kept.enter_context(staged(folder))
            yield stage / self.destination.name

    def put_in_place(self, stage: Path) -> None:
        """Move what lies in the stage, all or nothing: a folder, or a file and those that belong to it."""
        with unwritten(self.destination):
            try:
                if self.target.format is None:
                    new = stage / self.destination.name
                    place_folder(new, self.destination, {*self.target.family.files, *os.listdir(new)}, self.check)
                else:
                    self._place_files(stage)
            except FileExistsError as error:
                if self.force:
                    raise
                raise _is_there(Path(error.filename)) from None

    def _place_files(self, stage: Path) -> None:
        own, folder = self.destination.name, self.destination.parent
        files = sorted(stage.iterdir(), key=lambda file: file.name == own)
        with locked(folder), unbroken():
            files = [file for file in files if file.name == own or not _is_same(file, folder / file.name)]
            for file in files:
                self.check(folder / file.name)
            place_files(files, folder, self.force)


def parts(path: Path) -> list[Path]:
    """List the file or folder and what may lie beside it: an optimizer's state, a configuration, the shards of an index."""
    companions = [path.with_suffix(row.companion) for row in FORMATS.values() if row.companion]
    shards = sorted(path.parent.glob(f"{path.stem}.data-*")) if path.suffix == ".index" else []
    listed = [path.parent / name for name in files_of(path)] if path.suffix == ".json" else []
    return [path, beside(path), *companions, *shards, *listed]


def inputs(source: Path, settings: Settings) -> list[Path]:
    """List all that is read with a source: its own parts, and the vocabularies that the settings name."""
    named = [settings.get(name) for name in VOCABULARIES]
    return [source, *parts(resolved(source)), *(Path(one) for one in named if isinstance(one, str))]


def kind_of(folder: Path) -> Family | None:
    """Find what ``--to`` writes such a folder; None for what no port writes."""
    return next((row for row in FOLDERS.values() if row.recognize(folder)), None)


def _holds_nothing(destination: Path) -> bool:
    """Tell an empty file or folder, such as ``mktemp`` makes; its kind is looked at all the same."""
    return is_new_file(destination) or (destination.is_dir() and not any(destination.iterdir()))


def _is_there(path: Path) -> PortError:
    return PortError(f"{path} must be new, but it is there already: nothing is written. Only force (--force) replaces it.")


def _check_folder(folder: Path, family: Family) -> None:
    """Refuse a folder of another kind: which of its files belong to an old model is unknown."""
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


def _is_same(file: Path, final: Path) -> bool:
    """Tell a file that is there already, such as the configuration beside another container of the model."""
    return final.is_file() and not final.is_symlink() and filecmp.cmp(file, final, shallow=False)
