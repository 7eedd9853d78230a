"""A file of the D2L family, loaded by its own framework and run by that framework's backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...registry import get_backend
from ..families import d2l
from ..formats import FORMATS
from ..ported import NativeFile
from ..probe import run_backend
from ..sources import without_ignored


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    config = TransformerConfig.from_dict(settings["config"])
    backend = get_backend(FORMATS[settings["format"]].backend)
    tensors = globals()[f"_load_{settings['format']}"](Path(settings["path"]))
    native = without_ignored(NativeFile(format=settings["format"], tensors=tensors), settings["given"])
    model = d2l.read(native, {**settings["given"], **config.to_dict()})
    return run_backend(backend, model.config, model.weights, arrays), {"version": backend.version()}


def _load_torch(path: Path) -> dict[str, np.ndarray]:
    import torch

    from . import torch_files

    weights, _ = torch_files.parts(torch, torch_files.load(torch, path), path)
    return {name: torch_files.to_numpy(torch, name, value, []) for name, value in weights.items()}


def _load_paddle(path: Path) -> dict[str, np.ndarray]:
    import paddle

    # paddle.load unpickles: the file has come this far because formats.paddle found nothing but arrays in it.
    loaded = paddle.load(str(path))
    loaded = next((loaded[key] for key in ("model", "state_dict", "net") if isinstance(loaded.get(key), dict)), loaded)
    return {name: value.numpy() for name, value in loaded.items() if isinstance(value, paddle.Tensor)}


def _load_mxnet(path: Path) -> dict[str, np.ndarray]:
    from mxnet import npx

    loaded = npx.load(str(path))
    return {name.removeprefix("arg:").removeprefix("aux:"): value.asnumpy() for name, value in loaded.items()}


def _load_keras(path: Path) -> dict[str, np.ndarray]:
    import h5py

    from .hdf5 import load

    return load(h5py, path)[0]


def _load_tensorflow(path: Path) -> dict[str, np.ndarray]:
    import tensorflow

    from .tensorflow_files import load

    return load(tensorflow, path.with_suffix(""))[0]


def _load_flax(path: Path) -> dict[str, np.ndarray]:
    from flax import serialization, traverse_util

    tree = serialization.msgpack_restore(path.read_bytes())
    tree = next((tree[key] for key in ("params", "model") if isinstance(tree.get(key), dict)), tree)
    while list(tree) == ["params"]:
        tree = tree["params"]
    return {name: np.asarray(value) for name, value in traverse_util.flatten_dict(tree, sep="/").items()}
