"""Named arrays in safetensors files, by the library of that name, read strictly."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Container, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save_file

from ..errors import CheckpointError, DtypeError
from .regular import read_regular_file

FLOATS = ("F64", "F32", "F16")
INTEGERS = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
DTYPES = {code: np.dtype(kind) for code, kind in {"F64": "<f8", "F32": "<f4", "F16": "<f2", **INTEGERS, "BOOL": "?"}.items()}
BFLOAT16 = "BF16"  # NumPy has none: it is read as its bits
STORED = {**DTYPES, BFLOAT16: np.dtype("<u2")}
LONGEST_HEADER = 8 << 20  # bytes: some 80,000 tensors; a parsed header takes twenty times as much memory


@dataclass(frozen=True, kw_only=True)
class TensorFile:
    """The content of a file; ``dtypes`` by name are safetensors' own, and BF16 stands in ``arrays`` as uint16."""

    arrays: dict[str, np.ndarray]
    dtypes: dict[str, str]
    metadata: dict[str, str]


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Write a file; raises OSError when it cannot be written, a full disk included; DtypeError for what it has no place for."""
    if wrong := [name for name, array in tensors.items() if array.dtype.newbyteorder("<") not in DTYPES.values()]:
        known = ", ".join(map(str, DTYPES.values()))
        raise DtypeError(f"Tensor {wrong[0]} must be of {known} to be saved, got {tensors[wrong[0]].dtype}.")
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)  # the library makes its files private
    try:
        save_file(dense(tensors), path, None if metadata is None else dict(metadata))
        path.chmod(mode)
    except SafetensorError as error:
        raise OSError(str(error).removeprefix("Error while serializing: I/O error: ")) from None


def dense(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Copy an array as the library must have it: it writes memory as it lies, a transposed view in the wrong order."""
    return {name: np.asarray(array, array.dtype.newbyteorder("="), order="C") for name, array in tensors.items()}


def read_tensors(path: Path, whole_numbers: Container[str] = ()) -> dict[str, np.ndarray]:
    """Read the arrays of a file: see ``read_numbers``."""
    return read_numbers(path, whole_numbers).arrays


def read_numbers(path: Path, whole_numbers: Container[str] = ()) -> TensorFile:
    """A file of numbers; raises CheckpointError when it is damaged or holds another dtype.

    Args:
        whole_numbers: names of arrays that hold int64; all others are float64, float32 or float16.
    """
    file = read_tensor_file(path)
    wrong = []
    for name, dtype in file.dtypes.items():
        expected = ("I64",) if name in whole_numbers else FLOATS
        if dtype not in expected:
            wrong.append(f"{name} must be {' or '.join(expected)}, got {dtype}")
    if wrong:
        raise CheckpointError(f"{path} holds tensors of a wrong dtype: {'; '.join(wrong)}.")
    return file


def read_tensor_file(path: Path) -> TensorFile:
    """Read a file; raises CheckpointError: it is not a regular file, damaged, or holds what NumPy has no numbers for."""
    try:
        data = bytes(read_regular_file(path))
    except FileNotFoundError:
        raise CheckpointError(f"{path} must be a safetensors file, but it is not there.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from None
    length = int.from_bytes(data[:8], "little")
    try:
        if 8 + length > LONGEST_HEADER:
            raise ValueError(f"its header must have at most {LONGEST_HEADER} bytes, but it has {length}")
        # It checks names, shapes and places, in an order that differs from run to run, and keeps the metadata to itself.
        entries = sorted(deserialize(data), key=itemgetter(0))
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
        dtypes = {name: str(entry["dtype"]) for name, entry in entries}
        arrays = {name: _array(name, entry["data"], dtypes[name], entry["shape"]) for name, entry in entries}
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} must be a safetensors file, but it is damaged: {error}.") from None
    return TensorFile(arrays=arrays, dtypes=dtypes, metadata=metadata)


def _array(name: str, data: bytearray, dtype: str, shape: list[int]) -> np.ndarray:
    if dtype not in STORED:
        raise ValueError(f"tensor {name!r:.80} must be of {', '.join(STORED)}, got {dtype!r:.40}")
    return np.frombuffer(data, STORED[dtype]).reshape(shape)


def digest(tensors: Mapping[str, np.ndarray]) -> bytes:
    """SHA-256 of names, dtypes, shapes and numbers, whatever their order and layout in memory."""
    digest = hashlib.sha256()
    for name, array in sorted(tensors.items()):
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{name}\0{little.dtype.str}\0{array.shape}\0".encode())
        digest.update(little.tobytes())
    return digest.digest()
