"""Paddle ``.pdparams``, with the ``.pdopt`` beside it, by a reader that executes nothing.

paddle.save pickles a dictionary of arrays, and under ``StructuredToParameterName@@`` the names that the optimizer's file
uses: ``linear_0.w_0_moment1_0``. Paddle counts no steps, it keeps beta to the power of the next one.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PortError
from ...files.digests import digest
from ..model import NativeFile
from ..safety.pickled_arrays import named_arrays, read_pickle
from ..safety.raw_arrays import LONGEST_NAME, check_names, first_bytes, read_bytes

NAMES = "StructuredToParameterName@@"
MOMENTS = {"m": "_moment1_0", "v": "_moment2_0"}
POWERS = {"_beta1_pow_acc_0": 0.9, "_beta2_pow_acc_0": 0.999}
STEP = "transformer_mb.step"
OF = "transformer_mb.of"  # the digest of the model that an optimizer's file belongs to
MODEL_KEYS, OPTIMIZER_KEYS = ("model", "state_dict", "net"), ("optimizer", "opt")
PREFIXES = {"norm": "layer_norm", "linear": "linear", "embedding": "embedding"}


def recognize(path: Path) -> bool:
    head = first_bytes(path, 2)
    return len(head) == 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def read(path: Path) -> NativeFile:
    tree = _dictionary(path)
    optimizer = next((tree[key] for key in OPTIMIZER_KEYS if type(tree.get(key)) is dict), None)
    tree = next((tree[key] for key in MODEL_KEYS if type(tree.get(key)) is dict), tree)
    names = tree.get(NAMES) if type(tree.get(NAMES)) is dict else _names_of(tree)
    tensors = named_arrays({key: value for key, value in tree.items() if key != NAMES})
    check_names(tensors, path)
    beside = path.with_suffix(".pdopt")
    if optimizer is None and beside != path and beside.exists():
        optimizer = _dictionary(beside)
        if type(of := optimizer.get(OF)) is np.ndarray and of.tobytes() != digest(tensors):
            other = f"{beside.name} was left out: it belongs to other weights than those of {path.name}."
            return NativeFile(format="paddle", tensors=tensors, notes=(other,))
    if optimizer is None:
        return NativeFile(format="paddle", tensors=tensors)
    state, note = _state(named_arrays(optimizer), names or {})
    return NativeFile(format="paddle", tensors=tensors, optimizer=state, notes=note)


def _dictionary(path: Path) -> dict[Any, Any]:
    tree = read_pickle(read_bytes(path), str(path))
    if type(tree) is not dict:
        raise PortError(f"{path} must hold a dictionary of arrays by name, got a {type(tree).__name__}.")
    return tree


def _names_of(tree: dict[Any, Any]) -> dict[Any, Any]:
    """The parameters' own names, where a dictionary inside another was saved."""
    return {key: value[0] for key, value in tree.items() if type(value) is tuple and len(value) == 2}


def _state(arrays: dict[str, np.ndarray], names: Mapping[Any, Any]) -> tuple[dict[str, np.ndarray] | None, tuple[str, ...]]:
    moments = {
        f"{slot}.{native}": arrays[f"{own}{ending}"]
        for slot, ending in MOMENTS.items()
        for native, own in names.items()
        if type(own) is str and len(own) <= LONGEST_NAME and f"{own}{ending}" in arrays
    }
    if not moments:
        return None, ("The optimizer's file holds no Adam moments of these parameters: it was left out.",)
    if STEP in arrays:
        return {"step": arrays[STEP].astype(np.int64).reshape(()), **moments}, ()
    step = _steps_taken(arrays)
    note = f"Paddle counts no steps: {step} was computed from beta2 to the power of the next step, with beta2 = 0.999."
    return {"step": np.asarray(step, np.int64), **moments}, (note,)


def _steps_taken(arrays: dict[str, np.ndarray]) -> int:
    ending, beta = "_beta2_pow_acc_0", POWERS["_beta2_pow_acc_0"]
    powers = [array for name, array in arrays.items() if name.endswith(ending) and array.size == 1]
    power = float(powers[0].reshape(())) if powers else math.nan
    if not 0.0 < power < 1.0:
        raise PortError(f"The optimizer's file must hold beta2 to a power from 0 to 1 as NAME{ending}, got {power}.")
    return max(round(math.log(power) / math.log(beta)) - 1, 0)


def write(path: Path, native: NativeFile) -> None:
    """The pickle that paddle.save makes of a state_dict, and the optimizer's beside it."""
    names = _paddle_names(native)
    _dump(path, {**native.tensors, NAMES: names})
    if native.optimizer is None:
        return
    state: dict[str, np.ndarray] = {}
    step = int(native.optimizer["step"])
    for native_name, own in names.items():
        moments = {ending: native.optimizer.get(f"{slot}.{native_name}") for slot, ending in MOMENTS.items()}
        state.update({f"{own}{ending}": moment for ending, moment in moments.items() if moment is not None})
        if all(moment is not None for moment in moments.values()):
            state.update({f"{own}{end}": np.array([beta ** (step + 1)], np.float32) for end, beta in POWERS.items()})
    own_names = {name: name for name in state}
    of = np.frombuffer(digest(native.tensors), np.uint8)
    _dump(path.with_suffix(".pdopt"), {**state, STEP: native.optimizer["step"], OF: of, NAMES: own_names})


def _paddle_names(native: NativeFile) -> dict[str, str]:
    """The names that Paddle gives to the parameters of a model made first in its process, in this order."""
    counts: dict[str, int] = {}
    layers: dict[str, str] = {}
    names = {}
    for name in native.tensors:
        layer, _, leaf = name.rpartition(".")
        if layer not in layers:
            word = layer.rpartition(".")[2]
            kind = "norm" if "norm" in word or word == "ln" else "embedding" if "embedding" in word else "linear"
            prefix = PREFIXES[kind]
            layers[layer] = f"{prefix}_{counts.setdefault(prefix, 0)}"
            counts[prefix] += 1
        names[name] = f"{layers[layer]}.{'b' if leaf == 'bias' else 'w'}_0"
    return names


def _dump(path: Path, tree: dict[str, Any]) -> None:
    dense = {name: np.array(value, order="C") if isinstance(value, np.ndarray) else value for name, value in tree.items()}
    with path.open("wb") as file:
        pickle.dump(dense, file, protocol=4)
