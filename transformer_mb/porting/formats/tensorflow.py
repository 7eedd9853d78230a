"""TensorFlow checkpoints (``NAME.index`` and ``NAME.data-00000-of-00001``): read by TensorFlow in a process of its own."""

from __future__ import annotations

from pathlib import Path

from ...errors import PortError
from ...files.regular import open_regular
from .. import worker
from ..kinds import Format
from ..model import NativeFile
from ..safety.raw_arrays import check_names
from .keras import hint

MAGIC = bytes.fromhex("57fb808b247547db")  # the last bytes of a table of LevelDB


def recognize(path: Path) -> bool:
    """The ``.index`` file."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(max(size - len(MAGIC), 0))
        return file.read() == MAGIC


def read(path: Path) -> NativeFile:
    if path.suffix != ".index":
        raise PortError(f"A TensorFlow checkpoint is named by its .index file, got {path}.")
    prefix = str(path.resolve()).removesuffix(".index")
    tensors, facts = worker.call("formats.native_loaders.tensorflow:read", {}, {"prefix": prefix})
    check_names(tensors, path)
    return NativeFile(format="tensorflow", tensors=tensors, notes=tuple(facts["notes"]))


ROW = Format(
    name="tensorflow",
    title="TensorFlow checkpoint",
    suffix=".index",
    recognize=recognize,
    read=read,
    requires=("tensorflow",),
    backend="tensorflow",
    hint=hint,
)
