"""A bare state_dict in safetensors; the configuration travels in its metadata when we write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ...errors import PortError
from ..ported import NativeFile
from ..raw_arrays import array_from_bytes, check_names, dtype_of, read_bytes, widened_bfloat16

CONFIG = "transformer_mb.config"
NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


def recognise(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < path.stat().st_size


def read(path: Path) -> NativeFile:
    """The library checks the header; the numbers are then taken from where it says."""
    try:
        with safe_open(path, framework="np") as file:
            dtypes = {name: str(file.get_slice(name).get_dtype()) for name in file.offset_keys()}
            settings = _settings(path, file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise PortError(f"{path} must be a safetensors file, but it is damaged: {error}.") from None
    tensors = _tensors(read_bytes(path), dtypes)
    check_names(tensors, path)
    narrow = [name for name, dtype in dtypes.items() if dtype == "BF16"]
    notes = (f"{len(narrow)} tensors of bfloat16 were widened to float32.",) if narrow else ()
    return NativeFile(format="safetensors", tensors=tensors, settings=settings, notes=notes)


def _tensors(data: bytes, dtypes: dict[str, str]) -> dict[str, np.ndarray]:
    length = int.from_bytes(data[:8], "little")
    header, numbers = json.loads(data[8 : 8 + length]), memoryview(data)[8 + length :]
    tensors = {}
    for name, dtype in dtypes.items():
        start, end = header[name]["data_offsets"]
        raw, shape = numbers[start:end], header[name]["shape"]
        if dtype == "BF16":
            tensors[name] = widened_bfloat16(raw, shape, name)
        else:
            tensors[name] = array_from_bytes(raw, dtype_of(NAMES.get(dtype, dtype), name), shape, name)
    return tensors


def _settings(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    if CONFIG not in metadata:
        return {}
    try:
        settings = json.loads(metadata[CONFIG])
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise PortError(f"{path}: the metadata {CONFIG} must be a JSON object, but it is not.")
    return settings


def write(path: Path, native: NativeFile) -> None:
    metadata = {CONFIG: json.dumps(dict(native.settings))} if native.settings else None
    dense = {name: np.array(array, order="C") for name, array in native.tensors.items()}
    try:
        save_file(dense, path, metadata)
    except SafetensorError as error:  # a full disk among others
        raise OSError(str(error)) from None
