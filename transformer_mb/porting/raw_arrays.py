"""Arrays from the bytes of a file that may lie about their size and type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import PortError

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
MAX_AXES = 32  # what every NumPy holds
GROWTH, ALLOWANCE = 64, 1 << 20  # a compressed file may unpack to so many times its size, and a megabyte


def read_bytes(path: Path) -> bytes:
    """The whole file; raises PortError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise PortError(f"{path} cannot be read: {error.strerror or error}.") from None


def unpacked_limit(size: int) -> int:
    """How many bytes the content of a file of ``size`` bytes may take."""
    return GROWTH * size + ALLOWANCE


def dtype_of(name: str, tensor: str) -> np.dtype:
    """The dtype of a tensor by its NumPy name; raises PortError for objects, strings and what else is no number."""
    if name not in DTYPES:
        raise PortError(f"Tensor {tensor!r:.80} must be of {', '.join(DTYPES)}, but {name!r:.40} came.")
    return np.dtype(name)


def array_from_bytes(
    raw: bytes | memoryview, dtype: np.dtype, shape: Sequence[int], tensor: str, fortran: bool = False
) -> np.ndarray:
    """A view in native byte order; raises PortError unless ``raw`` is exactly as long as the shape says."""
    if len(shape) > MAX_AXES or any(type(size) is not int or size < 0 for size in shape):
        raise PortError(
            f"Tensor {tensor!r:.80} must have at most {MAX_AXES} axes of whole sizes, but {list(shape)!r:.80} came."
        )
    expected = math.prod(shape) * dtype.itemsize
    if len(raw) != expected:
        raise PortError(
            f"Tensor {tensor!r:.80} of shape {list(shape)!r:.60} must hold {expected} bytes, but {len(raw)} came: damaged."
        )
    flat = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="), copy=False)
    return flat.reshape(tuple(shape), order="F" if fortran else "C")


def widened_bfloat16(raw: bytes | memoryview, shape: Sequence[int], tensor: str) -> np.ndarray:
    """bfloat16 as float32, since NumPy has none: the upper half of each number."""
    halves = array_from_bytes(raw, np.dtype("uint16"), shape, tensor)
    return (halves.astype(np.uint32) << 16).view(np.float32)


def check_names(tensors: dict[str, np.ndarray], path: Path) -> None:
    if not tensors:
        raise PortError(f"{path} must hold tensors by name, but it holds none.")
