"""The frameworks' own readers and writers, run in processes of their own (see ``worker``), never imported elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import keras, torch


def of_flax(path: Path) -> dict[str, np.ndarray]:
    from flax import serialization, traverse_util

    tree = serialization.msgpack_restore(path.read_bytes())["params"]
    return {name: np.asarray(value) for name, value in traverse_util.flatten_dict(tree, sep="/").items()}


def of_mxnet(path: Path) -> dict[str, np.ndarray]:
    from mxnet import npx

    return {name: value.asnumpy() for name, value in npx.load(str(path)).items()}


def of_paddle(path: Path) -> dict[str, np.ndarray]:
    """Load a file that we have just written: Paddle unpickles, so it gets no other."""
    import paddle

    loaded = paddle.load(str(path))
    return {name: value.numpy() for name, value in loaded.items() if isinstance(value, paddle.Tensor)}


# By format: the arrays by name as the framework itself reads them.
LOADERS = {
    "torch": torch.load_natively,
    "keras": keras.load_natively,
    "flax": of_flax,
    "mxnet": of_mxnet,
    "paddle": of_paddle,
}
