"""A model in several files: read whole by the index that lists them, and one of them never taken for all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PortError
from ...files.regular import open_regular, read_regular_text
from ..model import NativeFile
from ..safety.port_errors import check_installed, system_errors
from . import FORMATS

INDICES = ("*.index.json", "*.weights.json")  # of Hugging Face, of Keras
PLACES = "weight_map"  # by tensor, or by layer of Keras, its file or files
# A number of a number, but for those that count something else than parts.
NUMBERED = re.compile(r"(?P<word>[a-z]*)[-_.]?0*(?P<part>\d+)[-_]?of[-_]?0*(?P<all>\d+)(?!\d)", re.IGNORECASE)
COUNTED = {"epoch", "step", "steps", "fold", "run", "seed", "trial", "iter", "e", "s"}
# What parallel training puts into the names of its parts, each of which may also hold all of a model.
OF_PARALLEL = re.compile(
    r"(?:^|[^a-z])(?:rank|shard|part|piece|split|stage|tp|pp)[-_.]?\d+(?!\d)|^consolidated\.\d+|_\d{5}\.weights\.h5$",
    re.IGNORECASE,
)
ENDINGS = {ending: row for row in FORMATS.values() for ending in row.shards}
LISTED = 5  # names in a sentence


def part_of_several(path: Path) -> str:
    """Say why a file holds a part of a model only, one sentence, or ""."""
    for index in _indices(path.parent):
        files = files_of(index)
        if path.name in files and len(files) > 1:
            return f"{path} is one of {len(files)} files of a model, which {index.name} lists: name {index} to read them all."
    found = NUMBERED.search(path.name)
    if found and found["word"].lower() not in COUNTED and int(found["all"]) > 1 and int(found["part"]) <= int(found["all"]):
        return (
            f"{path} is by its name part {found['part']} of {found['all']} of a model: name the index (.index.json) that lists "
            "them; a file that holds all of a model needs another name."
        )
    return ""


def perhaps_part(path: Path) -> str:
    """Return what in a file's name lets it look like one of several, though it may be whole, or ""."""
    found = OF_PARALLEL.search(path.name)
    return found[0].strip("-_.") if found else ""


def index_of(folder: Path) -> Path | None:
    """The index of a folder that has one."""
    found = _indices(folder)
    return found[0] if len(found) == 1 and len(files_of(found[0])) else None


def is_index(path: Path) -> bool:
    if not path.name.endswith(".json"):
        return False
    with system_errors(f"{path} cannot be read"), open_regular(path) as file:
        return file.read(1) == b"{" and bool(files_of(path))


def read_shards(index: Path, read: Callable[[Path], NativeFile] | None = None) -> NativeFile:
    """All tensors of all files that an index lists; raises PortError that names the files that are not there.

    ``read``: of one of them; None: by the format that its name says.
    """
    files = files_of(index, strict=True)
    absent = [name for name in files if not (index.parent / name).is_file()]
    if absent:
        listed = ", ".join(absent[:LISTED])
        raise PortError(f"{index} lists {len(files)} files, but {len(absent)} of them are not there: {listed:.300}.")
    shards = [(read or read_shard)(index.parent / name) for name in files]
    tensors: dict[str, np.ndarray] = {}
    for name, shard in zip(files, shards, strict=True):
        if twice := next((one for one in shard.tensors if one in tensors), None):
            raise PortError(f"{index} must hold each tensor once, but {twice:.80} comes again in {name}.")
        tensors |= shard.tensors
    named = _places(index)
    if not FORMATS[shards[0].format].index_of_layers and (missing := [name for name in named if name not in tensors]):
        raise PortError(f"{index} lists {len(missing)} tensors that its files do not hold: {', '.join(missing[:LISTED]):.300}.")
    notes = dict.fromkeys(note for shard in shards for note in shard.notes)
    return replace(shards[0], tensors=tensors, notes=tuple(notes))


def read_shard(path: Path) -> NativeFile:
    """Read one file, by the format that its name says."""
    row = next((row for ending, row in ENDINGS.items() if path.name.endswith(ending)), FORMATS["safetensors"])
    check_installed(row.requires, f"Reading {path}")
    with system_errors(f"{path} cannot be read"):
        return row.read(path)


def _indices(folder: Path) -> list[Path]:
    return sorted(path for pattern in INDICES for path in folder.glob(pattern) if path.is_file())


def _places(index: Path, strict: bool = False) -> dict[str, Any]:
    """Read each tensor's place, none of a file that is no index; ``strict``: refuse an unreadable one in the system's words."""
    try:
        tree = json.loads(read_regular_text(index, "configuration"))
    except (ValueError, RecursionError):
        return {}
    except OSError as error:
        if strict:
            raise PortError(f"{index} cannot be read: {error.strerror or error}.") from None
        return {}
    places = tree.get(PLACES) if isinstance(tree, dict) else None
    return places if isinstance(places, dict) else {}


def files_of(index: Path, strict: bool = False) -> list[str]:
    """The names of an index's files, each of its own folder."""
    places = _places(index, strict)
    files = [name for one in places.values() for name in (one if isinstance(one, list) else [one])]
    if strict and not (files and all(isinstance(name, str) and Path(name).name == name for name in files)):
        raise PortError(f"{index}: {PLACES} must give a file of this folder for each tensor, got {places!r:.80}.")
    return sorted({name for name in files if isinstance(name, str)})
