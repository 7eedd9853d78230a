"""Files of a ported model beside its weights: parts for tasks, and what its library keeps in a folder of its own.

``heads.safetensors`` holds the tensors of ``task_heads.Head``, and in its metadata what each of them computes;
``carried.safetensors`` holds files as bytes, and in its metadata the ``model_type`` of the library's folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckpointError, ConfigError
from ..files.tensors import read_numbers, read_tensor_file, write_tensors
from ..task_heads import Head, Step
from .files import CARRIED, HEADS

DESCRIBED, MODEL_TYPE = "heads", "model_type"


class Carried(NamedTuple):
    """Files by name, and the ``model_type`` of the folder that they are from."""

    files: Mapping[str, bytes]
    model_type: str


NOTHING = Carried({}, "")


def write_heads(folder: Path, heads: tuple[Head, ...]) -> None:
    """Write the parts for tasks into a folder; none for none."""
    if not heads:
        return
    described = [{**asdict(head), "tensors": sorted(head.tensors)} for head in heads]
    tensors = {name: array for head in heads for name, array in head.tensors.items()}
    write_tensors(folder / HEADS, tensors, {DESCRIBED: json.dumps(described)})


def read_heads(folder: Path) -> tuple[Head, ...]:
    """Read the parts for tasks of a checkpoint; raises CheckpointError."""
    path = folder / HEADS
    if not path.is_file():
        return ()
    file = read_numbers(path)
    try:
        described = json.loads(file.metadata.get(DESCRIBED, ""))
        return tuple(_head(one, file.arrays) for one in described)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ConfigError) as error:
        raise CheckpointError(
            f"{path} must say in its metadata what its parts compute, but it does not: {error!s:.200}."
        ) from None


def _head(described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Head:
    task, takes, made_by = (str(described[name]) for name in ("task", "takes", "made_by"))
    steps = tuple(Step(*map(str, step)) for step in described["steps"])
    tensors = {str(name): arrays[name] for name in described["tensors"]}
    return Head(task=task, takes=takes, made_by=made_by, steps=steps, tensors=tensors)


def write_carried(folder: Path, carried: Carried) -> None:
    """Write files of a library as bytes; none for none."""
    if carried.files:
        arrays = {name: np.frombuffer(content, np.uint8) for name, content in carried.files.items()}
        write_tensors(folder / CARRIED, arrays, {MODEL_TYPE: carried.model_type})


def read_carried(folder: Path) -> Carried:
    """Read the files that a checkpoint carries; raises CheckpointError. Their names are whatever the file says."""
    path = folder / CARRIED
    if not path.is_file():
        return NOTHING
    file = read_tensor_file(path)
    if wrong := [name for name, array in file.arrays.items() if array.dtype != np.uint8 or array.ndim != 1]:
        raise CheckpointError(f"{path} must hold files as bytes, but {wrong[0]!r:.80} is none.")
    return Carried({name: array.tobytes() for name, array in file.arrays.items()}, file.metadata.get(MODEL_TYPE, ""))
