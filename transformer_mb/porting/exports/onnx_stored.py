"""What lies in an exported ONNX folder: the weights by canonical name, and what cannot be explained."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...positions import sinusoid_table
from ..model import PortedModel


def read_back(model: PortedModel, folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Every initializer of every file, also of data that lies beside it.

    A weight must be the same wherever it is stored; the rest must be what its name says, computed anew.
    """
    import onnx
    from onnx import numpy_helper

    stored: dict[str, np.ndarray] = {}
    unexplained = []
    for path in sorted(folder.glob("*.onnx")):
        for tensor in onnx.load(path).graph.initializer:
            name, array = tensor.name, numpy_helper.to_array(tensor)
            if name in model.weights:
                array = _whole(model, name, array)
                if name in stored and not np.array_equal(stored[name], array):
                    unexplained.append(f"{name} of {path.name}")
                stored[name] = array
            elif not _is_constant(name, array) and not _same(_computed(model, name), array):
                unexplained.append(f"{name} of {path.name}")
    return stored, unexplained


def _whole(model: PortedModel, name: str, array: np.ndarray) -> np.ndarray:
    """A table of positions is stored from the first that is used."""
    offset = model.config.position_offset
    if not offset or not name.endswith(".pos_embedding.weight"):
        return array
    return np.concatenate([np.asarray(model.weights[name][:offset], np.float32), array])


def _is_constant(name: str, array: np.ndarray) -> bool:
    """A constant is called by its type and its numbers."""
    return name == f"constant_{array.dtype.name}_{'_'.join(map(str, array.ravel()))}_{array.ndim}"


def _computed(model: PortedModel, name: str) -> np.ndarray | None:
    config = model.config
    if name == "positions":
        rows = sinusoid_table(config.max_len + config.position_offset, config.num_hiddens, config.sinusoid_layout)
        return rows[config.position_offset :].astype(np.float32)
    fills = {"no_scale": np.ones, "no_shift": np.zeros}
    return fills[name](config.num_hiddens, np.float32) if name in fills else None


def _same(expected: np.ndarray | None, array: np.ndarray) -> bool:
    return expected is not None and expected.dtype == array.dtype and np.array_equal(expected, array)
