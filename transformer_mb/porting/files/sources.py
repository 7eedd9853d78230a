"""Reading of a path as a model: which format and family it is, by content, and what it holds."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ...checkpoint.files import CONFIG
from ...errors import PortError
from ...files.regular import read_regular_file, regular_size
from ...printable import counted
from ..exports import EXPORTS
from ..families import FAMILIES, OF_HUGGING_FACE
from ..families.hugging_face import named_model
from ..families.naming_schemes import canonical_name
from ..formats import FORMATS
from ..formats.shards import index_of, is_index, part_of_several, perhaps_part, read_shards
from ..formats.wrappers import plain
from ..kinds import Family, Format, Settings
from ..model import NativeFile, PortedModel
from ..safety.port_errors import check_installed, system_errors
from ..settings import names_of
from .chosen import with_chosen
from .config_beside import beside, with_recorded
from .unreadable import names_hint, what_a_folder_seems, what_it_seems, what_stands_there

AROUND = ("source_embedding", "target_embedding", "source_positions", "target_positions", "output")  # settings that name layers
DATA = re.compile(r"(.+)\.data-\d+-of-\d+")  # the numbers of a TensorFlow checkpoint
LATEST, MOST_TEXT = re.compile(rb'^model_checkpoint_path: "(?:[^"]*/)?([^"/]+)"', re.MULTILINE), 1 << 16
LISTED = 20  # names in a sentence
# What a model is made of, whatever it computes with it: all of a block, and each layer that a canonical name explains.
WEIGHT = re.compile(
    r"(en|de)coder\.blks\.block\d+\.|(.+\.)?layers\.\d+\.|(.+\.)?\d+\.((linear|norm)[123]|\w+_attn)\.|pooler\.dense\."
    r"|(.*(en|de)coder\.)?norm\.(weight|bias)$"
    r"|(en|de)coder\.(embedding|pos_embedding|relative_bias|type_embedding|embedding_norm|norm|dense)\.(weight|bias)$"
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A model and where it is from; ``native`` is None for a family with a folder of its own."""

    path: Path
    family: Family
    model: PortedModel
    native: NativeFile | None = None


def read_source(path: Path, from_: str | None, settings: Settings) -> Source:
    """Read any readable path. ``from_`` names a format or a family; None recognizes both. Raises PortError."""
    path = resolved(path)
    family = FAMILIES.get(from_ or "")
    if from_ is not None and family is None and from_ not in FORMATS:
        raise PortError(f"from must be one of {', '.join([*FORMATS, *FAMILIES])}, got {from_!r}. {OF_HUGGING_FACE}")
    if path.is_dir() or (family is not None and family.kind == "folder"):
        if from_ in FORMATS:
            raise PortError(f"{path} must be a file where from says {from_}, got a folder: a {_folder_family(path).title}.")
        family = family or _folder_family(path)
        return Source(path=path, family=family, model=family.read(path, settings))
    native = read_tensors(path, None if family else from_, settings)
    settings = plain_settings(settings, native)
    with likely_cause(native, path):
        family = family or recognized_family(native, path)
        model = family.read(native, settings)
    return Source(path=path, family=family, model=model, native=native)


@contextmanager
def likely_cause(native: NativeFile, path: Path) -> Iterator[None]:
    """Put before what is wrong with a file's tensors what that likely comes from; a part of a model is never taken for it."""
    try:
        if native.part:
            raise PortError(native.part)
        yield
    except PortError as error:
        if native.doubt:
            cause = f"{native.doubt} Where that is meant, {beside(path)} can itself be given as the settings (config). "
        elif family := _family_around(path):
            cause = f"{path} is a part of a {family.title}: name the folder {path.parent}, which says more than this file. "
            if native.part:
                raise PortError(cause.strip()) from None
        else:
            raise
        raise PortError(f"{cause}{error}") from None


def _family_around(path: Path) -> Family | None:
    """Return the family of the folder which the file is a part of."""
    families = (row for row in FAMILIES.values() if any(fnmatchcase(path.name, pattern) for pattern in row.files))
    return next((row for row in families if row.recognize(path.parent)), None)


def read_tensors(path: Path, format_name: str | None, settings: Settings) -> NativeFile:
    """The content of a file as the settings choose it: ``weights``, ``ignore``, ``betas``."""
    return with_chosen(without_ignored(read_file(path, format_name), settings), settings)


def plain_settings(settings: Settings, native: NativeFile) -> dict[str, Any]:
    """Return the settings with the names of layers as ``native`` has them, from which wrappers were taken out."""
    names = {key: plain(value) for key, value in settings.items() if key in AROUND and isinstance(value, str)}
    return {
        **settings,
        **{key: name for key, name in names.items() if f"{name.removesuffix('.weight')}.weight" in native.tensors},
    }


def without_ignored(native: NativeFile, settings: Settings) -> NativeFile:
    """The file without the tensors that the setting ``ignore`` names, such as buffers; one that names none is a mistake."""
    starts = names_of(settings, "ignore")
    ignored = {
        start: [name for name in native.tensors if name.startswith(start) or plain(name).startswith(start)] for start in starts
    }
    if absent := [start for start, names in ignored.items() if not names]:
        raise PortError(f"ignore must name tensors of the file, but there is none that begins with {', '.join(absent)}.")
    names = [name for name in native.tensors if any(name in listed for listed in ignored.values())]
    if not names:
        return native
    if weights := [name for name in names if WEIGHT.match(canonical_name(plain(name), native.format).name)]:
        raise PortError(
            f"ignore is for buffers, but it names {counted(len(weights), 'tensor that is', 'tensors that are')} a part of the "
            f"model: {_listed(weights)}."
        )
    unproved = f"What the model computes with {'it' if len(names) == 1 else 'them'} is not proved."
    left = counted(len(names), "tensor was", "tensors were")
    note = f"{left} left out, as ignore says: {_listed(names)}. {unproved}"
    kept = {name: array for name, array in native.tensors.items() if name not in names}
    left_out = {name: native.tensors[name] for name in names}
    return replace(native, tensors=kept, ignored=left_out, notes=(*native.notes, note))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(f"{name:.120}" for name in names[:LISTED]) + more


def read_file(path: Path, format_name: str | None = None) -> NativeFile:
    """The content of a container with what is recorded of its configuration, in it or beside it."""
    return with_recorded(read_native(path, format_name), path)


def resolved(path: Path) -> Path:
    """The path itself, or the .index file of the TensorFlow checkpoint that a prefix or a folder stands for."""
    if path.name in ("", ".."):  # of . and the like
        path = path.resolve()
    shard = DATA.fullmatch(path.name)
    index = path.parent / f"{shard[1] if shard else path.name}.index"
    if shard and index.is_file():
        return index
    if not path.exists() and index.is_file():
        return index
    if not path.exists():
        link = f": it is {what_stands_there(path)}" if path.is_symlink() else ""
        raise PortError(f"There is no file or folder {path}{link}.")
    if path.is_dir() and (path / "checkpoint").is_file():
        indices = sorted(path.glob("*.index"))
        if len(indices) == 1:
            return indices[0]
        if indices:
            latest = LATEST.search(read_regular_file(path / "checkpoint", MOST_TEXT))
            last = f", such as the latest, {latest[1].decode(errors='replace'):.200}.index" if latest else ""
            raise PortError(f"{path} holds {len(indices)} TensorFlow checkpoints: name one by its .index file{last}.")
    if path.is_dir() and not (path / CONFIG).exists() and (found := index_of(path)):
        return found
    return path


def read_native(path: Path, format_name: str | None = None) -> NativeFile:
    """The content of a container, recognized unless its format is named."""
    if not path.is_file():
        raise PortError(f"{path} must be a file, got {what_stands_there(path)}.")
    if is_index(path):
        return read_shards(path)
    row = FORMATS[format_name] if format_name else recognized_format(path)
    check_installed(row.requires, f"Reading {row.title}")
    with system_errors(f"{path} cannot be read"):
        return replace(row.read(path), part=part_of_several(path), perhaps_part=perhaps_part(path))


def recognized_format(path: Path) -> Format:
    with system_errors(f"{path} cannot be read", zipfile.BadZipFile, ValueError, NotImplementedError):
        for row in sorted(FORMATS.values(), key=lambda one: not one.asked_first):
            if row.recognize(path):
                return row
    titles = ", ".join(row.title for row in FORMATS.values())
    raise PortError(f"{path} must be one of {titles}, but its content is of none{what_it_seems(path)}.")


def _folder_family(path: Path) -> Family:
    folders = [family for family in FAMILIES.values() if family.kind == "folder"]
    if os.path.lexists(path / CONFIG):
        with system_errors(f"{path / CONFIG} cannot be read"):
            regular_size(path / CONFIG)  # every one of them says by this file what it is
    for family in folders:
        if family.recognize(path):
            return family
    if export := next((row for row in EXPORTS.values() if row.recognize(path)), None):
        raise PortError(f"{path} is a {export.title}, which is written only: port or inspect what it was made from.")
    titles, seems = " or a ".join(row.title for row in folders), next(filter(None, (row.seems(path) for row in folders)), "")
    seems = seems or named_model(path) or what_a_folder_seems(path)
    raise PortError(f"The folder {path} must be a {titles}, but it is none{seems}.")


def recognized_family(native: NativeFile, path: Path) -> Family:
    families = [family for family in FAMILIES.values() if family.kind == "tensors"]
    for family in families:
        if family.recognize(native):
            return family
    listed = ", ".join(list(native.tensors)[:5])
    raise PortError(
        f"The tensors of {path} must be those of {' or '.join(family.title for family in families)}, got "
        f"{listed:.300}{', ...' if len(native.tensors) > 5 else ''}.{names_hint(native)}"
    )
