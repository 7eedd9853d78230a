"""Paddle ``.pdparams``, with the ``.pdopt`` beside it, by a reader that executes nothing.

paddle.save pickles a dictionary of arrays, and under ``StructuredToParameterName@@`` the names that the optimizer's file
uses: ``linear_0.w_0_moment1_0``. Paddle counts no steps, it keeps both betas to the power of the next one.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PortError
from ...files.tensors import digest
from ..kinds import Format
from ..model import USUAL_BETAS, NativeFile, PortedModel
from ..safety.pickled_arrays import named_arrays, read_pickle
from ..safety.raw_arrays import LONGEST_NAME, check_names, first_bytes, read_bytes, widened_bfloat16
from .adam_powers import powers_after
from .held import held

NAMES = "StructuredToParameterName@@"
# The last number counts the optimizers of a process.
MOMENT = re.compile(r"(?P<own>.+)_(?P<slot>moment1|moment2|beta1_pow_acc|beta2_pow_acc)_\d+")
MOMENTS = {"m": "moment1", "v": "moment2"}
POWERS = ("beta1_pow_acc", "beta2_pow_acc")
OF_OTHERS = re.compile(r".+_(moment2_max|mean_square|mean_grad|momentum|inf_norm|velocity)_\d+")  # no moment of plain Adam
STEP = "transformer_mb.step"
OF = "transformer_mb.of"  # the digest of the model that an optimizer's file belongs to
BETAS = "transformer_mb.betas"
MASTERS = "master_weights"
PREFIXES = {"norm": "layer_norm", "linear": "linear", "embedding": "embedding"}


def recognize(path: Path) -> bool:
    head = first_bytes(path, 2)
    return len(head) == 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def read(path: Path) -> NativeFile:
    tree = _dictionary(path)
    names = next((its for one in (tree, *tree.values()) if type(one) is dict and (its := _names_of(one))), {})
    found = held(_arrays(tree), str(path), lambda value: isinstance(value, np.ndarray))
    tensors, narrow = _widened(found.tensors)
    check_names(tensors, path)
    notes = [*found.notes, *([f"{narrow} tensors of bfloat16 were widened to float32."] if narrow else [])]
    others = {key: _widened(arrays)[0] for key, arrays in found.others.items()}
    beside, optimizer = path.with_suffix(".pdopt"), found.optimizer
    if optimizer is None and beside != path and beside.exists():
        optimizer = _dictionary(beside)
        if type(of := optimizer.get(OF)) is np.ndarray and of.tobytes() != digest(tensors):
            notes.append(f"{beside.name} was left out: it belongs to other weights than those of {path.name}.")
            optimizer = None
    native = NativeFile(format="paddle", tensors=tensors, others=others, notes=tuple(notes))
    return native if optimizer is None else _with_state(native, optimizer, names)


def _arrays(tree: Any) -> Any:
    """Leave out the parameters' own names: Paddle's (name, array) becomes the array."""
    if type(tree) is tuple and len(tree) == 2 and type(tree[0]) is str:
        return tree[1]
    return {key: _arrays(value) for key, value in tree.items() if key != NAMES} if type(tree) is dict else tree


def _widened(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], int]:
    """Paddle writes bfloat16 as uint16, which no array of its own has."""
    narrow = [name for name, array in arrays.items() if array.dtype == np.uint16]
    return {**arrays, **{name: widened_bfloat16(arrays[name]) for name in narrow}}, len(narrow)


def _dictionary(path: Path) -> dict[Any, Any]:
    tree = read_pickle(read_bytes(path), str(path))
    if type(tree) is not dict:
        raise PortError(f"{path} must hold a dictionary of arrays by name, got a {type(tree).__name__}.")
    return tree


def _names_of(tree: dict[Any, Any]) -> dict[Any, Any]:
    """The parameters' own names; where a dictionary inside another was saved, they stand beside the arrays."""
    if type(tree.get(NAMES)) is dict:
        return tree[NAMES]
    return {key: value[0] for key, value in tree.items() if type(value) is tuple and len(value) == 2}


def _with_state(native: NativeFile, state: Any, names: Mapping[Any, Any]) -> NativeFile:
    """The file with Adam's state; where that leaves anything open, a note says so and the weights come without it."""
    arrays, _ = _widened(named_arrays(state) if type(state) is dict else {})
    notes = []
    if type(state) is dict and type(masters := state.get(MASTERS)) is dict and masters:
        notes.append(f"{MASTERS}, {len(masters)} weights in float32 in the optimizer's file, were left out.")
    slots = {(match["own"], match["slot"]): array for name, array in arrays.items() if (match := MOMENT.fullmatch(name))}
    of = {native_name: own for native_name, own in names.items() if type(own) is str and len(own) <= LONGEST_NAME}
    moments = {
        f"{slot}.{name}": slots[own, word] for slot, word in MOMENTS.items() for name, own in of.items() if (own, word) in slots
    }
    foreign = sorted({match[1] for name in arrays if (match := OF_OTHERS.fullmatch(name))})
    powers = [[array for (_, slot), array in slots.items() if slot == word] for word in POWERS]
    problem = ""
    if foreign:
        problem = f"plain Adam has no {', '.join(foreign)}"
    elif not moments:
        problem = "the optimizer's file holds no Adam moments of these parameters"
    elif STEP not in arrays and not (all(powers) and all(p.size == 1 and p.dtype.kind == "f" for both in powers for p in both)):
        problem = "the optimizer's file must hold the powers of beta1 and beta2, NAME_beta1_pow_acc_0 and so on, as fractions"
    elif STEP not in arrays and any(len({float(p.reshape(())) for p in both}) > 1 for both in powers):
        problem = "different tensors took different numbers of steps"
    elif STEP in arrays and not (arrays[STEP].size == 1 and arrays[STEP].dtype.kind == "i"):
        problem = f"{STEP} must be one whole number"
    if problem:
        return replace(native, notes=(*native.notes, *notes, f"The optimizer's state was left out: {problem}."))
    native = replace(native, notes=(*native.notes, *notes))
    if STEP not in arrays:
        return replace(native, optimizer=moments, powers=(powers[0][0], powers[1][0]))
    told = arrays.get(BETAS)
    betas = (float(told[0]), float(told[1])) if told is not None and told.shape == (2,) else None
    return replace(native, optimizer={"step": arrays[STEP].astype(np.int64).reshape(()), **moments}, betas=betas)


def write(path: Path, native: NativeFile) -> None:
    """The pickle that paddle.save makes of a state_dict, and the optimizer's beside it."""
    names = _paddle_names(native)
    _dump(path, {**native.tensors, NAMES: names})
    if native.optimizer is None:
        return
    state: dict[str, np.ndarray] = {}
    step, betas = int(native.optimizer["step"]), native.betas or USUAL_BETAS
    powers = {word: powers_after(step, beta) for word, beta in zip(POWERS, betas, strict=True)}
    for native_name, own in names.items():
        moments = {f"_{word}_0": native.optimizer.get(f"{slot}.{native_name}") for slot, word in MOMENTS.items()}
        state.update({f"{own}{ending}": moment for ending, moment in moments.items() if moment is not None})
        if all(moment is not None for moment in moments.values()):
            state.update({f"{own}_{word}_0": power for word, power in powers.items()})
    own_names = {name: name for name in state}
    of = np.frombuffer(digest(native.tensors), np.uint8)
    _dump(
        path.with_suffix(".pdopt"), {**state, STEP: native.optimizer["step"], BETAS: np.array(betas), OF: of, NAMES: own_names}
    )


def _paddle_names(native: NativeFile) -> dict[str, str]:
    """The names that Paddle gives to the parameters of a model made first in its process, in this order but for last norms."""
    counts: dict[str, int] = {}
    layers: dict[str, str] = {}
    names = {}
    for name in _as_made(list(native.tensors)):
        layer, _, leaf = name.rpartition(".")
        if layer not in layers:
            word = layer.rpartition(".")[2]
            kind = "norm" if "norm" in word or word == "ln" else "embedding" if "embedding" in word else "linear"
            prefix = PREFIXES[kind]
            layers[layer] = f"{prefix}_{counts.setdefault(prefix, 0)}"
            counts[prefix] += 1
        names[name] = f"{layers[layer]}.{'b' if leaf == 'bias' else 'w'}_0"
    return names


def _as_made(names: list[str]) -> list[str]:
    """Reorder: paddle.nn.TransformerEncoder and its decoder get a first layer and a last norm, and make the other layers."""
    made = list(names)
    for name in names:
        stack, found, _ = name.rpartition("norm.")
        others = [other for other in names if found and other.startswith(f"{stack}layers.1.")]
        if others:
            made.remove(name)
            made.insert(made.index(others[0]), name)
    return made


def _dump(path: Path, tree: dict[str, Any]) -> None:
    dense = {name: np.array(value, order="C") if isinstance(value, np.ndarray) else value for name, value in tree.items()}
    with path.open("wb") as file:
        pickle.dump(dense, file, protocol=4)


LINES = """
import paddle
from transformer_mb.checkpoint import read_config
from transformer_mb.backends.paddle import EncoderDecoder
model = EncoderDecoder.from_config(read_config({{config}}))
model.set_state_dict({loaded})
model.eval()
"""


# Moments are found by names that count a process's layers, which differ where the model is not the first there.
OPTIMIZER_LINES = f"""
names = paddle.load({{path}}, keep_name_table=True)["{NAMES}"]
for name, parameter in model.named_parameters(): parameter.name = names[name]
moments = paddle.load({{companion}})
beta1, beta2 = map(float, moments["{BETAS}"])
optimizer = paddle.optimizer.Adam(beta1=beta1, beta2=beta2, parameters=model.parameters())
optimizer.set_state_dict(moments)
"""


def loaded(model: PortedModel) -> str:
    """Return a template of the tensors: Paddle takes no array of another dtype than the parameter's."""
    if all(array.dtype == np.float32 for array in model.weights.values()):
        return "paddle.load({path})"
    return "{{name: array.astype('float32') for name, array in paddle.load({path}).items()}}"


ROW = Format(
    name="paddle",
    title="Paddle .pdparams",
    suffix=".pdparams",
    shards=(".pdparams",),
    recognize=recognize,
    read=read,
    write=write,
    into="transformer_mb.backends.paddle.EncoderDecoder",
    lines=lambda model: LINES.format(loaded=loaded(model)),
    optimizer_lines=OPTIMIZER_LINES,
    optimizer=True,
    keeps_betas=True,
    backend="paddle",
    companion=".pdopt",
)
