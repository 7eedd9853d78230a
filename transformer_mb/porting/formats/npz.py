"""NumPy ``.npz``: one member a tensor, ``optimizer.`` before the names of ``Trainer.state_dict``; object arrays are refused."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from ...errors import PortError
from ...files.regular import open_regular
from ..kinds import Format
from ..model import NativeFile
from ..safety.raw_arrays import array_from_bytes, bytes_needed, check_names, dtype_of, size_of, unpacked_limit

PIECE = 1 << 20  # bytes
OPTIMIZER = "optimizer."


def recognize(path: Path) -> bool:
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            return False
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    return bool(names) and all(name.endswith(".npy") for name in names)


def read(path: Path) -> NativeFile:
    try:
        with open_regular(path) as opened, zipfile.ZipFile(opened) as archive:
            members = archive.infolist()
            _check_sizes(path, members)
            arrays: dict[str, np.ndarray] = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in arrays:
                    raise PortError(f"{path} must hold each tensor once, but {name!r:.80} comes twice.")
                with archive.open(member) as file:
                    arrays[name] = _array(file, member.file_size, name)
    except PortError:
        raise
    except OSError as error:
        raise PortError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # zipfile and NumPy raise what they meet
        raise PortError(f"{path} must be a NumPy .npz file, but it is damaged: {error}.") from None
    tensors = {name: array for name, array in arrays.items() if not name.startswith(OPTIMIZER)}
    state = {name.removeprefix(OPTIMIZER): array for name, array in arrays.items() if name.startswith(OPTIMIZER)}
    check_names(tensors, path)
    return NativeFile(format="npz", tensors=tensors, optimizer=state or None)


def _check_sizes(path: Path, members: list[zipfile.ZipInfo]) -> None:
    size = size_of(path)
    claimed = sum(member.file_size for member in members)
    if claimed > unpacked_limit(size):
        raise PortError(f"{path} claims to unpack to {claimed} bytes, too many for a file of {size}: refused.")


def _array(file: IO[bytes], size: int, name: str) -> np.ndarray:
    """``size`` is the directory's claim; the archive stops reading there, and checks the sum."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise PortError(f"Tensor {name!r:.80} must be of .npy version 1 or 2, got {version}.")
    try:
        shape, fortran, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
    except ValueError:  # its words speak of pickles, which are no way to read a foreign file
        raise PortError(
            f"Tensor {name!r:.80} must begin with a header of at most 10,000 bytes, got none that can be read."
        ) from None
    dtype_of(dtype.newbyteorder("=").name, name)
    left = size - file.tell()
    if (needed := bytes_needed(shape, dtype.itemsize)) != left:
        raise PortError(f"Tensor {name!r:.80} of shape {list(shape)!r:.60} must hold {needed} bytes, got {left}: damaged.")
    raw = bytearray(left)
    with memoryview(raw) as place:
        for start in range(0, left, PIECE):  # in pieces, so that only one of them is in memory twice
            piece = file.read(min(PIECE, left - start))
            place[start : start + len(piece)] = piece
    if file.read(1):  # this is where the sum is checked
        raise PortError(f"Tensor {name!r:.80} must end after its numbers, got more: damaged.")
    return array_from_bytes(raw, dtype, shape, name, fortran)


def write(path: Path, native: NativeFile) -> None:
    state = {f"{OPTIMIZER}{name}": array for name, array in (native.optimizer or {}).items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in {**native.tensors, **state}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=math.prod(array.shape) * array.itemsize > 1 << 30) as file:
                npy.write_array(file, np.asarray(array), allow_pickle=False)


ROW = Format(
    name="npz",
    title="NumPy .npz",
    suffix=".npz",
    shards=(".npz",),
    recognize=recognize,
    read=read,
    write=write,
    into="transformer_mb.backends.numpy.EncoderDecoder",
    lines="""
import numpy as np
import transformer_mb as tmb
from transformer_mb.checkpoint import read_config
backend = tmb.get_backend('numpy')
model = backend.create_empty(read_config({config}))
backend.set_weights(model, {{name: array for name, array in np.load({path}).items() if not name.startswith('optimizer.')}})
model.eval()
""",
    optimizer=True,
    numbered="np.savez(file, **tensors) keeps them, with the tensors as a dictionary by name",
)
