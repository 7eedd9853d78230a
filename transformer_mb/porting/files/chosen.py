"""Choice among the models of a file: the one that the settings choose, under its own names, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import PortError
from ...printable import counted
from ..formats.adam_powers import beta1_shows, inferred
from ..formats.wrappers import plain_names, same_names
from ..model import NativeFile
from ..settings import betas_of

COUNT = "n_averaged"  # of torch.optim.swa_utils.AveragedModel
TRADE = (
    "Whether it is Adam or AdamW, no such file tells: weight decay, like the learning rate, is set where training continues."
)


def with_chosen(native: NativeFile, settings: Mapping[str, Any]) -> NativeFile:
    """The file with the tensors that ``weights`` names, without what wrappers put into their names, and a settled optimizer."""
    plain = _with_plain_names(_with_entry(native, settings.get("weights")), settings.get("weights"))
    return _with_betas(_without_odd_moments(plain), settings)


def _with_entry(native: NativeFile, name: Any) -> NativeFile:
    """Return the file with another entry's tensors, and a note of what is left out."""
    if name in native.others:
        raw = f"weights of the settings chose {name}: the file's other tensors were left out"
        optimizer = ", and the optimizer's state, which belongs to these" if native.optimizer else ""
        notes = (*native.notes, f"{raw}{optimizer}.")
        return replace(native, tensors=native.others[name], optimizer=None, powers=None, others={}, notes=notes)
    if name is not None and not any(f"{name}{mark}" in tensor for tensor in native.tensors for mark in "./"):
        known = ", ".join(map(repr, native.others)) or "none"
        raise PortError(f"weights must name tensors of the file beside its model, which are {known:.200}, got {name!r:.80}.")
    if not native.others:
        return native
    listed = ", ".join(f"{key:.60} ({_described(native, key)})" for key in native.others)
    note = (
        f"The file has tensors beside its model, which were left out: {listed:.500}. "
        "weights in the settings can name one of them."
    )
    return replace(native, notes=(*native.notes, note))


def _described(native: NativeFile, key: str) -> str:
    same = "of the same names" if same_names(native, key) else "others"
    return f"{counted(len(native.others[key]), 'tensor')}, {same}"


def _with_plain_names(native: NativeFile, chosen: Any) -> NativeFile:
    own = plain_names(native.tensors, chosen)
    tensors = {own.names[name]: array for name, array in native.tensors.items() if name in own.names}
    optimizer = native.optimizer and {_renamed(key, own.names): array for key, array in native.optimizer.items()}
    notes = [*native.notes, *own.notes]
    if COUNT in tensors and tensors[COUNT].size == 1:
        models = int(tensors.pop(COUNT).reshape(()))
        notes.append(f"{COUNT} was left out: the weights are torch's AveragedModel's, of {models} models.")
    return replace(native, tensors=tensors, optimizer=optimizer, notes=tuple(notes))


def _renamed(key: str, names: Mapping[str, str]) -> str:
    slot, _, name = key.partition(".")
    return f"{slot}.{names[name]}" if name in names else key


def _without_odd_moments(native: NativeFile) -> NativeFile:
    """Leave out a state that would make every weight NaN in the first step of a training that goes on."""
    for key, array in (native.optimizer or {}).items():
        slot, _, name = key.partition(".")
        if slot in ("m", "v") and not np.isfinite(array).all():
            reason = f"moments must be finite, but those of {name:.80} are not"
        elif slot == "v" and (array < 0).any():
            reason = f"a mean of squares cannot be negative, but that of {name:.80} is"
        else:
            continue
        notes = (*native.notes, f"The optimizer's state was left out: {reason}.")
        return replace(native, optimizer=None, powers=None, notes=notes)
    return native


def _with_betas(native: NativeFile, settings: Mapping[str, Any]) -> NativeFile:
    """Add the steps that the powers of both rates show, or leave out the optimizer's state and say why."""
    given = betas_of(settings)
    if native.optimizer is None or native.powers is None:
        if given and native.betas and given != native.betas:
            raise PortError(f"betas in the settings contradict the file, whose optimizer has {native.betas}: got {given}.")
        return replace(native, betas=given or native.betas)
    found = inferred(native.powers, given)
    if isinstance(found, str):
        note = f"The optimizer's state was left out: {found}."
        return replace(native, optimizer=None, powers=None, notes=(*native.notes, note))
    step, betas = found
    note = f"Paddle counts no steps: {step} were computed from the powers of betas = {betas}. {TRADE}"
    if given is None and not beta1_shows(native.powers):
        note += f" beta1's power is too small to tell it: {betas[0]} was assumed, betas in the settings can say it."
    optimizer = {"step": np.asarray(step, np.int64), **native.optimizer}
    return replace(native, optimizer=optimizer, powers=None, betas=betas, notes=(*native.notes, note))
