"""Messages between processes: JSON and named arrays as safetensors, so that nothing is unpickled on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, load_file, save

from ..files.tensors import dense, write_tensors

Arrays = Mapping[str, np.ndarray]
Message = tuple[dict[str, np.ndarray], dict[str, Any]]


def pack_arrays(arrays: Arrays) -> bytes:
    return save(dense(arrays))


unpack_arrays = load


def put(folder: Path, name: str, arrays: Arrays, facts: Mapping[str, Any]) -> None:
    """Write a message as two files; raises OSError."""
    write_tensors(folder / f"{name}.safetensors", arrays)
    (folder / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")


def get(folder: Path, name: str) -> Message:
    """The reverse of ``put``; raises FileNotFoundError where nothing was put."""
    facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return load_file(folder / f"{name}.safetensors"), facts
