"""Safetensors files: named arrays, read strictly and written as the library of that name does.

u64 length of the header; the header, JSON of ``{name: {"dtype", "shape", "data_offsets": [start, end]}}`` and of texts under
``__metadata__``; the arrays, one after the other without a gap. Source: the README of huggingface/safetensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .errors import CheckpointError, DtypeError
from .regular_files import read_regular_file

FLOATS = ("F64", "F32", "F16")
INTEGERS = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", **INTEGERS, "BOOL": "?"}
BFLOAT16 = "BF16"  # NumPy has none: it is read as its bits
STORED = {code: np.dtype(kind) for code, kind in {**DTYPES, BFLOAT16: "<u2"}.items()}
METADATA = "__metadata__"
LONGEST_HEADER = 8 << 20  # bytes: some 80,000 tensors; Python's form of JSON takes twenty times as much memory
MOST_AXES = 32  # what every NumPy holds


@dataclass(frozen=True, kw_only=True)
class TensorFile:
    """The content of a file; ``dtypes`` by name are safetensors' own, and BF16 stands in ``arrays`` as uint16."""

    arrays: dict[str, np.ndarray]
    dtypes: dict[str, str]
    metadata: dict[str, str]


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Raises OSError when the file cannot be written, a full disk included."""
    codes = {dtype: code for code, dtype in STORED.items() if code in DTYPES}
    # The widest first, so that each array lies at a multiple of the size of its numbers.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, Any] = {} if metadata is None else {METADATA: dict(metadata)}
    end = 0
    for name, array in ordered:
        code = codes.get(array.dtype.newbyteorder("<"))
        if code is None:
            raise DtypeError(f"Tensor {name} must be of {', '.join(map(str, codes))} to be saved, but {array.dtype} came.")
        start, end = end, end + array.nbytes
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)


def read_tensors(path: Path, whole_numbers: Container[str] = ()) -> dict[str, np.ndarray]:
    """Every array of the file; raises CheckpointError when it is damaged or holds another dtype.

    Args:
        whole_numbers: names of arrays that hold int64; all others are float64, float32 or float16.
    """
    found = read_tensor_file(path)
    wrong = []
    for name, dtype in found.dtypes.items():
        expected = ("I64",) if name in whole_numbers else FLOATS
        if dtype not in expected:
            wrong.append(f"{name} must be {' or '.join(expected)}, but {dtype} came")
    if wrong:
        raise CheckpointError(f"{path} holds tensors of a wrong dtype: {'; '.join(wrong)}.")
    return found.arrays


def read_tensor_file(path: Path) -> TensorFile:
    """Raises CheckpointError: it is no regular file, damaged, or holds what NumPy has no numbers for."""
    try:
        data = read_regular_file(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path} must be a safetensors file, but it is not there.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        header, start = _header(data)
        metadata = header.pop(METADATA, {})
        if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
            raise ValueError("its metadata must be texts by name")
        arrays = _arrays(header, memoryview(data)[start:])
    except ValueError as error:
        raise CheckpointError(f"{path} must be a safetensors file, but it is damaged: {error}.") from None
    except (TypeError, KeyError, AttributeError, RecursionError):
        raise CheckpointError(f"{path} must be a safetensors file, but it is damaged: its header is none.") from None
    return TensorFile(arrays=arrays, dtypes={name: header[name]["dtype"] for name in arrays}, metadata=metadata)


def bytes_needed(shape: Sequence[Any], itemsize: int) -> int:
    """How many bytes an array takes; raises ValueError for a shape that NumPy cannot hold, empty or not."""
    if len(shape) > MOST_AXES or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"a shape must be at most {MOST_AXES} whole sizes, but {list(shape)!r:.80} came")
    if math.prod(size or 1 for size in shape) * itemsize >= 1 << 63:
        raise ValueError(f"no array can have the shape {list(shape)!r:.80}")
    return math.prod(shape) * itemsize


def _header(data: bytearray) -> tuple[dict[str, Any], int]:
    end = 8 + int.from_bytes(data[:8], "little")
    if end > len(data) or len(data) < 8:
        raise ValueError(f"its header must end by byte {len(data)}, but it ends at {end}")
    if end > LONGEST_HEADER:
        raise ValueError(f"its header must have at most {LONGEST_HEADER} bytes, but it has {end - 8}")
    return json.loads(data[8:end].decode("utf-8"), object_pairs_hook=_unique), end


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _arrays(header: dict[str, Any], numbers: memoryview) -> dict[str, np.ndarray]:
    """Views of the numbers in the order in which they lie."""
    found, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        code, shape = entry["dtype"], entry["shape"]
        if code not in STORED:
            raise ValueError(f"tensor {name!r:.80} must be of {', '.join(STORED)}, but {code!r:.40} came")
        size, (start, stop) = bytes_needed(shape, STORED[code].itemsize), entry["data_offsets"]
        if start != end or stop - start != size:
            raise ValueError(f"tensor {name!r:.80} must lie from {end} to {end + size}, but it lies from {start} to {stop}")
        end = stop
        array = np.frombuffer(numbers[start:stop], STORED[code]).reshape(shape)
        found[name] = array if array.flags.aligned else array.copy()
    if end != len(numbers):
        raise ValueError(f"its arrays must end at byte {len(numbers)} of the numbers, but they end at {end}")
    return found
