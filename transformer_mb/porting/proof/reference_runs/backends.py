"""Tensors of the D2L family, run by the backend of the framework whose file they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....registry import get_backend
from ...families import d2l
from ...formats import FORMATS
from ...model import NativeFile
from ..probe import parts, run_backend


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """On the tensors of a source; or on a file that was just written, ``path``, loaded as its users will."""
    config, format_name = TransformerConfig.from_dict(settings["config"]), settings["format"]
    name = FORMATS[format_name].backend
    backend = get_backend(name)
    batch, tensors = parts(arrays)
    if "path" in settings:
        tensors = globals()[f"_load_{format_name}"](Path(settings["path"]))
    native = NativeFile(format=format_name, tensors=tensors, settings=config.to_dict())
    model = d2l.read(native, settings["given"])
    return run_backend(backend, model.config, model.weights, batch), {"ran": f"our {name} backend ({name} {backend.version()})"}


def _load_torch(path: Path) -> dict[str, np.ndarray]:
    import torch

    from ...formats.native_loaders import torch as torch_files

    weights, _ = torch_files.parts(torch, torch_files.load(torch, path), path)
    return {name: torch_files.to_numpy(torch, name, value, []) for name, value in weights.items()}


def _load_paddle(path: Path) -> dict[str, np.ndarray]:
    import paddle

    # paddle.load unpickles: this is a file of our own, in a folder that nobody else writes to.
    loaded = paddle.load(str(path))
    loaded = next((loaded[key] for key in ("model", "state_dict", "net") if isinstance(loaded.get(key), dict)), loaded)
    return {name: value.numpy() for name, value in loaded.items() if isinstance(value, paddle.Tensor)}


def _load_mxnet(path: Path) -> dict[str, np.ndarray]:
    from mxnet import npx

    loaded = npx.load(str(path))
    return {name.removeprefix("arg:").removeprefix("aux:"): value.asnumpy() for name, value in loaded.items()}


def _load_keras(path: Path) -> dict[str, np.ndarray]:
    import h5py

    from ...formats.native_loaders.keras import load

    return load(h5py, path)[0]


def _load_flax(path: Path) -> dict[str, np.ndarray]:
    from flax import serialization, traverse_util

    tree = serialization.msgpack_restore(path.read_bytes())
    tree = next((tree[key] for key in ("params", "model") if isinstance(tree.get(key), dict)), tree)
    while list(tree) == ["params"]:
        tree = tree["params"]
    return {name: np.asarray(value) for name, value in traverse_util.flatten_dict(tree, sep="/").items()}
