"""Guesses at a file, a folder or names of tensors that mean nothing here, and how files are saved that can be read."""

from __future__ import annotations

import errno
import os
import re
import stat
import zipfile
from pathlib import Path

from ...files.regular import KINDS, open_regular
from ..formats import FORMATS
from ..model import NativeFile

ZIP = b"PK\x03\x04"
KERAS = "model.weights.h5"  # in a .keras file
ORBAX = {"_CHECKPOINT_METADATA", "_METADATA", "_sharding", "manifest.ocdbt", "ocdbt.process_0"}
MOST_ENTRIES = 1000
SUFFIXES = (*(row.suffix for row in FORMATS.values()), ".pth", ".ckpt")
TEXT = (b"{", b"[", b"<", b"#")
NUMBERED = re.compile(r"(.*[./])?(arr_)?\d+$")
BLOCKS = re.compile(r"(?:.*[./])?blks[./](?:block)?\d+[./](?P<attention>attention\d?)[./]")


def what_it_seems(path: Path) -> str:
    """The end of a sentence, "" where nothing can be said."""
    with open_regular(path) as file:
        head = file.read(8)
        whole = zipfile.is_zipfile(file)
    if not head:
        return ": it is empty"
    if whole:
        return _zip(path)
    if head.startswith(ZIP):
        return ": it is a zip without its end, such as a .pt, .npz or .keras file that was cut short"
    return ": it begins as a text does" if head.startswith(TEXT) else ""


def _zip(path: Path) -> str:
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    if KERAS in names:
        return ": it is a whole Keras model (.keras), of which model.save_weights('NAME.weights.h5') saves what can be ported"
    listed = ", ".join(names[:3])
    return f": it is a zip of other things ({listed:.200})" if names else ": it is an empty zip"


def what_a_folder_seems(folder: Path) -> str:
    """Say the same of a folder."""
    names = {entry.name for entry in sorted(folder.iterdir())[:MOST_ENTRIES]}
    if "modules.json" in names:
        inner = next((name for name in sorted(names) if name.startswith("0_") and (folder / name).is_dir()), "its first module")
        return (
            f": it is a model of sentence-transformers (modules.json), whose weights lie in a folder of their own: name {inner}"
        )
    if not ORBAX.isdisjoint(names) or any(_is_orbax(folder / name) for name in names if name.isdecimal()):  # steps of a manager
        return ": it is orbax's, of which flax.serialization.to_bytes of the restored parameters makes a file that can be read"
    if "saved_model.pb" in names:
        return ": it is a SavedModel of TensorFlow, whose variables are a checkpoint: name variables/variables.index in it"
    if ".metadata" in names or any(name.endswith(".distcp") for name in names):
        return (
            ": it is a checkpoint of torch.distributed, of which `python -m torch.distributed.checkpoint.format_utils "
            "dcp_to_torch` makes a .pt"
        )
    readable = [name for name in sorted(names) if name.endswith(SUFFIXES)]
    if readable:
        return f": it holds files that can be named themselves, such as {', '.join(readable[:3]):.200}"
    return "" if names else ": it is empty"


def _is_orbax(folder: Path) -> bool:
    return any((folder / name).exists() for name in ORBAX)


def what_stands_there(path: Path) -> str:
    """Name what a path leads to that is no file and no folder."""
    if path.is_dir():
        return "a folder"
    if path.exists():
        return KINDS.get(stat.S_IFMT(path.stat().st_mode), "something else")
    return f"a link to {os.readlink(path):.200}, which is not there" if not _loops(path) else "a link that leads back to itself"


def _loops(link: Path) -> bool:
    try:
        os.stat(link)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def names_hint(native: NativeFile) -> str:
    """Explain tensors that belong to no family here: a sentence with a blank before it, or nothing."""
    names, row = list(native.tensors), FORMATS[native.format]
    if hint := row.hint(names):
        return f" {hint}"
    if names and all(map(NUMBERED.match, names)):
        return f" These are numbers and no names of layers: {row.numbered}."
    # An encoder's blocks have one attention, a decoder's have attention1 and attention2.
    sides = {match["attention"] == "attention" for name in names if (match := BLOCKS.match(name))}
    if len(sides) == 2:
        return " These are names of blocks of both sides, which must be called encoder and decoder."
    if sides == {True}:
        return " These are names of an encoder alone: save the whole model, or this part as {'encoder': state_dict}."
    return " These are names of a decoder alone: save the whole model." if sides else ""
