"""Arrays from the bytes of a file that may lie about their size and type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PortError
from ...files.regular import open_regular, read_regular_file, regular_size
from .port_errors import system_errors

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
MOST_TENSORS, LONGEST_NAME = 100_000, 500
MOST_AXES = 32  # what every NumPy holds
# A compressed file may unpack to GROWTH times its size, and a megabyte. Deflated, normal float32 is 1.08 times smaller,
# bfloat16 kept as float64 4 times, the same with half of it zero, as moments of a rare word's row are, 8 times.
GROWTH, ALLOWANCE = 8, 1 << 20


def read_bytes(path: Path) -> bytearray:
    """The whole file; raises PortError."""
    with system_errors(f"{path} cannot be read"):
        return read_regular_file(path)


def size_of(path: Path) -> int:
    """The size of a file that a library opens by its path; raises PortError."""
    with system_errors(f"{path} cannot be read"):
        return regular_size(path)


def first_bytes(path: Path, count: int) -> bytes:
    """Return the bytes that a format is recognized by; raises OSError."""
    with open_regular(path) as file:
        return file.read(count)


def unpacked_limit(size: int) -> int:
    """Return how many bytes the content of a file of ``size`` bytes may take."""
    return GROWTH * size + ALLOWANCE


def dtype_of(name: str, tensor: str) -> np.dtype:
    """The dtype of a tensor by its NumPy name; raises PortError for objects, strings and what else is no number."""
    if name not in DTYPES:
        raise PortError(f"Tensor {tensor!r:.80} must be of {', '.join(DTYPES)}, got {name!r:.40}.")
    return np.dtype(name)


def bytes_needed(shape: Sequence[Any], itemsize: int) -> int:
    """Return how many bytes an array takes; raises ValueError for a shape that NumPy cannot hold, empty or not."""
    if len(shape) > MOST_AXES or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"a shape must be at most {MOST_AXES} whole sizes, got {list(shape)!r:.80}")
    if math.prod(size or 1 for size in shape) * itemsize >= 1 << 63:
        raise ValueError(f"no array can have the shape {list(shape)!r:.80}")
    return math.prod(shape) * itemsize


def array_from_bytes(
    raw: bytes | bytearray | memoryview, dtype: np.dtype, shape: Sequence[int], tensor: str, fortran: bool = False
) -> np.ndarray:
    """A view in native byte order; raises PortError unless ``raw`` is exactly as long as the shape says."""
    try:
        expected = bytes_needed(shape, dtype.itemsize)
    except ValueError as error:
        raise PortError(f"Tensor {tensor!r:.80}: {error}.") from None
    if len(raw) != expected:
        raise PortError(
            f"Tensor {tensor!r:.80} of shape {list(shape)!r:.60} must hold {expected} bytes, got {len(raw)}: damaged."
        )
    flat = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="), copy=False)
    return flat.reshape(tuple(shape), order="F" if fortran else "C")


def widened_bfloat16(bits: np.ndarray) -> np.ndarray:
    """bfloat16 as float32, since NumPy has none: its uint16 are the upper half of each number."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def check_names(tensors: dict[str, np.ndarray], path: Path) -> None:
    """Refuse a file without tensors, and names and numbers of tensors that no model has."""
    if not tensors:
        raise PortError(f"{path} must hold tensors by name, got none.")
    if len(tensors) > MOST_TENSORS:
        raise PortError(f"{path} must hold at most {MOST_TENSORS} tensors, got {len(tensors)}.")
    for name in tensors:
        check_name(name, str(path))


def check_name(name: str, what: str) -> None:
    if len(name) > LONGEST_NAME:
        raise PortError(f"{what}: a name must have at most {LONGEST_NAME} characters, but {name!r:.60}... has {len(name)}.")
