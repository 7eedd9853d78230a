"""Weights that ``transformers`` wrote from TensorFlow and flax until version 5: read by neither, named as its torch models are.

Both are copies of the torch model, so that one table of words tells their names and layouts for every family. TensorFlow's file
is Keras 2's (layer/model/path:0, lists as ``layer_._0``, a part that torch calls otherwise as ``mlm___cls``), flax's a tree of
levels. ``kernel`` is what torch calls the weight of a Linear or a Conv1D, and lies the other way round in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...errors import PortError
from ..formats import flax
from ..formats.shards import read_shard, read_shards
from ..model import NativeFile
from ..safety.port_errors import check_installed

WORDS = {**dict.fromkeys(("kernel", "embeddings", "embedding", "scale", "gamma"), "weight"), "beta": "bias"}
RENAMED = re.compile(r"(?<=/)[^/]*___(?=[^/]*/)")  # before what torch calls a part


def of_torch(native: NativeFile) -> NativeFile:
    """The names and layouts themselves."""
    return native


def of_tensorflow(native: NativeFile) -> NativeFile:
    """A whole file: group of the layer, name of the model, path; what the model itself holds has no model before it."""
    return _renamed(native, {name: _path("/".join(_inner(name.split("/")[1:]))) for name in native.tensors})


def of_tensorflow_shards(native: NativeFile) -> NativeFile:
    """Shards have the paths alone, but for a table that both sides share, which has its own name twice."""
    return _renamed(native, {name: _path("/".join(dict.fromkeys(name.split("/")))) for name in native.tensors})


def of_flax(native: NativeFile) -> NativeFile:
    return _renamed(native, {name: name.removeprefix("params/") for name in native.tensors})


def _inner(levels: list[str]) -> list[str]:
    return levels[1:] if len(levels) > 1 else levels


def _path(name: str) -> str:
    """The levels as torch has them: without the number of the output, lists as levels, parts by torch's name."""
    return RENAMED.sub("", f"/{name.removesuffix(':0')}").removeprefix("/").replace("_._", "/")


def _renamed(native: NativeFile, paths: dict[str, str]) -> NativeFile:
    """``paths``: by name of the file, the levels of a tensor inside the model."""
    tensors: dict[str, np.ndarray] = {}
    for name, path in paths.items():
        *levels, leaf = path.split("/")
        own, array = ".".join([*levels, WORDS.get(leaf, leaf)]), _laid(native.tensors[name], leaf)
        # Keras lists a layer again with each head that uses it.
        if own in tensors and not np.array_equal(tensors[own], array):
            raise PortError(f"The file must hold one tensor per name, but {own:.120} is another one as {name:.200}.")
        tensors[own] = array
    return replace(native, tensors=tensors)


def _laid(array: np.ndarray, leaf: str) -> np.ndarray:
    if leaf == "kernel" and array.ndim == 2:
        return np.ascontiguousarray(array.T)
    return array.reshape(-1) if leaf == "bias" and array.ndim == 2 and len(array) == 1 else array  # of a Conv1D


def _read_flax(path: Path) -> NativeFile:
    check_installed(flax.ROW.requires, f"Reading {path}")
    return flax.read_tree(path)


@dataclass(frozen=True, kw_only=True)
class Container:
    """A file of a folder, or an index of several; ``read`` of its path, ``named`` gives its tensors torch's names."""

    name: str
    read: Callable[[Path], NativeFile]
    named: Callable[[NativeFile], NativeFile] = of_torch


# Of several in one folder the first is read, as transformers does; it saves all of one model.
CONTAINERS = (
    Container(name="model.safetensors", read=read_shard),
    Container(name="model.safetensors.index.json", read=read_shards),
    Container(name="pytorch_model.bin", read=read_shard),
    Container(name="pytorch_model.bin.index.json", read=read_shards),
    Container(name="tf_model.h5", read=read_shard, named=of_tensorflow),
    Container(name="tf_model.h5.index.json", read=read_shards, named=of_tensorflow_shards),
    Container(name="flax_model.msgpack", read=_read_flax, named=of_flax),
    Container(name="flax_model.msgpack.index.json", read=partial(read_shards, read=_read_flax), named=of_flax),
)


def read_container(folder: Path) -> NativeFile:
    """All tensors of a folder under the names of torch's models, with a note of where they are from if not of torch.

    Raises PortError: there is no file of weights, or a damaged one.
    """
    found = next((one for one in CONTAINERS if (folder / one.name).exists()), None)
    if found is None:
        names = ", ".join(one.name for one in CONTAINERS if not one.name.endswith(".json"))
        raise PortError(f"{folder} must hold its weights in {names}, or in shards with their index, but it holds none of them.")
    native = found.named(found.read(folder / found.name))
    if found.named is of_torch:
        return native
    note = f"The weights were read from {found.name}, under the names that transformers' models of torch give them."
    return replace(native, notes=(*native.notes, note))
