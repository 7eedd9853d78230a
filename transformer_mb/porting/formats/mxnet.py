"""MXNet ``.params``: gluon's save_parameters and mx.npx.save, by a parser of its own, since MXNet itself is retired.

u64 0x112, u64 0, u64 count; then each array; then u64 count and as many names (u64 length, UTF-8). An array is u32
version, i32 storage type, the shape (i32 or u32 number of axes, i64 each), i32 x 2 device, i32 dtype, the numbers.
Source: NDArray::Save and NDArray::Load in src/ndarray/ndarray.cc of MXNet 1.9.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from ...errors import PortError
from ..kinds import Format
from ..model import NativeFile
from ..safety.raw_arrays import array_from_bytes, check_names, dtype_of, first_bytes, read_bytes

HEADER = struct.pack("<QQ", 0x112, 0)
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
DENSE, CPU = 0, (1, 0)
PREFIXES = ("arg:", "aux:")  # of a symbolic model's file
SCOPE = re.compile(r"(?:\w+_)?[a-z]+\d+_(weight|bias|gamma|beta)$")


def recognize(path: Path) -> bool:
    return first_bytes(path, len(HEADER)) == HEADER


def read(path: Path) -> NativeFile:
    cursor = _Cursor(read_bytes(path), path)
    if (head := cursor.take(len(HEADER))) != HEADER:
        raise PortError(f"{path} must begin with MXNet's number 0x112, got {bytes(head).hex()}.")
    arrays = [_array(cursor, number) for number in range(cursor.count(least=24))]
    names = [_name(cursor) for _ in range(cursor.count(least=8))]
    if cursor.left:
        raise PortError(f"{path} must end after its names, but {cursor.left} bytes follow.")
    if len(names) != len(arrays) or len(set(names)) != len(names):
        remedy = "" if names else ": what was saved is a list, and a dictionary by name is what can be read"
        raise PortError(f"{path} must name each of its {len(arrays)} arrays once, got {len(set(names))} names{remedy}.")
    tensors = dict(zip(names, arrays, strict=True))
    check_names(tensors, path)
    return NativeFile(format="mxnet", tensors=tensors)


def _array(cursor: _Cursor, number: int) -> np.ndarray:
    version = cursor.number("I")
    if version not in (V1, V2, V3):
        raise PortError(f"{cursor.path}: array {number} must be of MXNet's versions 1 to 3, got {version:#x}.")
    if version != V1 and (storage := cursor.number("i")) != DENSE:
        raise PortError(f"{cursor.path}: array {number} must be dense, got storage type {storage}.")
    axes = cursor.number("i")
    if not 0 <= axes <= 32 or (axes == 0 and version != V3):
        raise PortError(f"{cursor.path}: array {number} must have 1 to 32 axes, got {axes}.")
    shape = [cursor.number("q") for _ in range(axes)]
    cursor.take(8)
    code = cursor.number("i")
    if not 0 <= code < len(DTYPES):
        raise PortError(f"{cursor.path}: array {number} must be of {', '.join(DTYPES)}, got MXNet's type {code}.")
    dtype = dtype_of(DTYPES[code], f"number {number}")
    size = dtype.itemsize
    for length in shape:
        size *= max(length, -1)
    if size < 0 or size > cursor.left:
        raise PortError(f"{cursor.path}: array {number} of shape {shape} must hold {size} bytes, but {cursor.left} are left.")
    return array_from_bytes(cursor.take(size), dtype, shape, f"number {number}")


def _name(cursor: _Cursor) -> str:
    length = cursor.number("Q")
    try:
        name = str(cursor.take(length), "utf-8")
    except UnicodeDecodeError:
        raise PortError(f"{cursor.path}: the names must be UTF-8, but one is not.") from None
    return next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)


class _Cursor:
    """A place in the bytes, which it never leaves."""

    def __init__(self, data: bytearray, path: Path):
        self.data, self.path, self.at = memoryview(data), path, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, length: int) -> memoryview:
        if length > self.left:
            raise PortError(f"{self.path} is cut short: {length} bytes must follow byte {self.at}, got {self.left}.")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, kind: str) -> int:
        return struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)))[0]

    def count(self, least: int) -> int:
        """A number of things, each of at least ``least`` bytes."""
        count = self.number("Q")
        if count * least > self.left:
            raise PortError(f"{self.path} claims {count} entries at byte {self.at}, but only {self.left} bytes are left.")
        return count


def write(path: Path, native: NativeFile) -> None:
    """Write a file as gluon in NumPy mode does (version 3)."""
    with path.open("wb") as file:
        file.write(HEADER + struct.pack("<Q", len(native.tensors)))
        for name, array in native.tensors.items():
            if array.dtype.name not in DTYPES:
                raise PortError(f"MXNet holds {', '.join(DTYPES)}, but {name} is {array.dtype.name}.")
            file.write(struct.pack("<Iii", V3, DENSE, array.ndim) + struct.pack(f"<{array.ndim}q", *array.shape))
            file.write(struct.pack("<iii", *CPU, DTYPES.index(array.dtype.name)))
            file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        file.write(struct.pack("<Q", len(native.tensors)))
        for name in native.tensors:
            raw = name.encode("utf-8")
            file.write(struct.pack("<Q", len(raw)) + raw)


def hint(names: list[str]) -> str:
    scopes = any(SCOPE.match(name) for name in names)
    return "These are names of gluon's scopes: net.save_parameters writes those that can be read." if scopes else ""


ROW = Format(
    name="mxnet",
    title="MXNet .params",
    suffix=".params",
    recognize=recognize,
    read=read,
    write=write,
    into="transformer_mb.backends.mxnet.EncoderDecoder",
    lines="""
from transformer_mb.backends.mxnet import EncoderDecoder  # before mxnet itself, which fails on NumPy 1.24 or later without it
from transformer_mb.checkpoint import read_config
model = EncoderDecoder.from_config(read_config({config}))
model.load_parameters({path}, cast_dtype=True)
""",
    backend="mxnet",
    hint=hint,
)
