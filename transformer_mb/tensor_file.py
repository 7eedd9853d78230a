"""Named arrays in a safetensors file, read strictly."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .errors import CheckpointError

FLOATS = ("F64", "F32", "F16")


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Raises OSError when the file cannot be written, a full disk included."""
    # The library writes memory as it lies, so that a transposed view would be stored in the wrong order.
    dense = {name: np.array(value, order="C", copy=not value.flags.c_contiguous) for name, value in tensors.items()}
    try:
        save_file(dense, path)
    except SafetensorError as error:
        raise OSError(str(error)) from None


def read_tensors(path: Path, whole_numbers: Container[str] = ()) -> dict[str, np.ndarray]:
    """Every array of the file; raises CheckpointError when it is damaged or holds another dtype.

    Args:
        whole_numbers: names of arrays that hold int64; all others are float64, float32 or float16.
    """
    if not path.is_file():
        raise CheckpointError(f"{path} must be a safetensors file, but it is not there.")
    try:
        with safe_open(path, framework="np") as file:
            names = list(file.keys())
            wrong = []
            for name in names:
                expected = ("I64",) if name in whole_numbers else FLOATS
                dtype = str(file.get_slice(name).get_dtype())
                if dtype not in expected:
                    wrong.append(f"{name} must be {' or '.join(expected)}, but {dtype} came")
            if wrong:
                raise CheckpointError(f"{path} holds tensors of a wrong dtype: {'; '.join(wrong)}.")
            return {name: file.get_tensor(name) for name in names}
    except SafetensorError as error:
        raise CheckpointError(f"{path} must be a safetensors file, but it is damaged: {error}.") from None
    except OSError as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from None
