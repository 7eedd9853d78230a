"""The moments of a ``torch.optim.Adam.state_dict()`` by the names of the tensors that they belong to, or not at all.

Where the state leaves open whose moments they are, or what made them, a note says so and the model travels without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....errors import PortError
from ..wrappers import bare

MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq"}
PLAIN = {"weight_decay": 0, "amsgrad": False}  # of torch's optimizers with these moments, only Adam and AdamW have both
SWITCHES = {**PLAIN, "maximize": False}  # away from these the steps are not plain Adam's
CHOSEN = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
SAME_STEP = ("foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay")  # how it is computed
BESIDE = ("params", "param_names", "name", "initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum")
KNOWN = {*SWITCHES, *CHOSEN, *SAME_STEP, *BESIDE}


MOST_STEPS = 2**53  # above it float64 has no whole numbers


class Moments(NamedTuple):
    """``step``, ``m.NAME`` and ``v.NAME``; both betas where they are one pair; how it speaks of more than the tensors."""

    arrays: dict[str, np.ndarray]
    betas: list[float] | None = None
    more: str = ""


def adam_moments(
    state: Mapping[str, Any], weights: Mapping[str, Any], to_numpy: Callable[[str, Any], np.ndarray], notes: list[str]
) -> Moments:
    """Read the moments of ``weights``; empty, with a note, when they cannot be told."""
    try:
        return Moments(_moments(state, weights, to_numpy, notes), _betas(state["param_groups"]))
    except _LeftOut as reason:
        notes.append(f"The optimizer's state was left out: {reason}.")
        return Moments({}, more=str(reason) if isinstance(reason, _More) else "")
    except PortError:
        raise
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        notes.append(f"The optimizer's state was left out: it is damaged ({type(error).__name__}).")
    return Moments({})


class _LeftOut(Exception):
    """The reason why the state does not travel."""


class _More(_LeftOut):
    """The optimizer has parameters that the model has not."""


def _moments(
    state: Mapping[str, Any], weights: Mapping[str, Any], to_numpy: Callable[[str, Any], np.ndarray], notes: list[str]
) -> dict[str, np.ndarray]:
    numbered, groups = state.get("state"), state.get("param_groups")
    if not isinstance(numbered, dict) or not numbered or not isinstance(groups, list):
        raise _LeftOut("it is not torch.optim.Adam's")
    _check_adam(numbered, groups)
    names = _names(groups, weights, notes)
    if set(names) != set(numbered):
        raise _LeftOut(f"it knows the moments of {len(numbered)} of its {len(names)} parameters")
    counts = {float(one["step"]) for one in numbered.values()}
    if odd := [count for count in counts if not (0 <= count < MOST_STEPS and count.is_integer())]:
        raise _LeftOut(f"steps must be a count, got {odd[0]}")
    steps = {int(count) for count in counts}
    if len(steps) != 1:
        raise _LeftOut(f"different tensors took different numbers of steps ({sorted(steps)[:5]})")
    moments = {"step": np.asarray(steps.pop(), np.int64)}
    for slot, key in MOMENTS.items():
        for number, name in names.items():
            array = to_numpy(name, numbered[number][key])
            if array.shape != tuple(weights[name].shape):
                raise _LeftOut(f"moments of shape {list(array.shape)} cannot be those of {name!r:.80}")
            if slot == "v" and (array < 0).any():
                raise _LeftOut(f"a mean of squares cannot be negative, but {key} of {name!r:.80} is")
            moments[f"{slot}.{name}"] = array
    _note_chosen(groups, notes)
    return moments


def _check_adam(numbered: Mapping[Any, Any], groups: list[Any]) -> None:
    """Plain Adam, by what its state and its groups hold; RAdam and SparseAdam say nothing of ``amsgrad``."""
    needed = {"step", *MOMENTS.values()}
    odd = [f"{name} = {g[name]!r:.40}" for g in groups for name, plain in SWITCHES.items() if g.get(name, plain) != plain]
    odd += [str(key) for one in numbered.values() for key in one if key not in needed]
    odd += [str(key) for group in groups for key in group if key not in KNOWN]
    if odd:
        raise _LeftOut(f"plain Adam has no {', '.join(dict.fromkeys(odd))}"[:300])
    missing = {key for one in numbered.values() for key in needed - set(one)}
    missing |= {key for group in groups for key in {"params", *PLAIN} - set(group)}
    if missing:
        raise _LeftOut(f"it has no {', '.join(sorted(missing))}, as torch.optim.Adam has")


def _names(groups: list[Any], weights: Mapping[str, Any], notes: list[str]) -> dict[Any, str]:
    """The tensor of each numbered parameter: by ``param_names``, else by their order in the model."""
    numbers = [number for group in groups for number in group["params"]]
    own = _owners(weights)
    owners = dict(zip(bare(own), own.values(), strict=True))
    if all("param_names" in group for group in groups):
        listed = bare([str(name) for group in groups for name in group["param_names"]])
        if len(listed) != len(numbers) or len(set(numbers)) != len(numbers):
            raise _LeftOut("its param_names do not name each of its parameters once")
        if unknown := [name for name in listed if name not in owners]:
            raise _More(f"its param_names name {unknown[0]!r:.80}, which is no tensor of the model")
        named = {number: owners[name] for number, name in zip(numbers, listed, strict=True)}
        if len(set(named.values())) != len(named):
            raise _LeftOut("two of its param_names mean one tensor")
        return named
    if len(groups) > 1:
        raise _LeftOut(
            f"it numbers parameters in {len(groups)} groups, and only names (param_names, which torch writes for "
            "optimizers that are given model.named_parameters()) tell whose moments these are"
        )
    names = list(dict.fromkeys(owners.values()))
    if len(numbers) != len(names):
        kind = _More if len(numbers) > len(names) else _LeftOut
        raise kind(f"it numbers {len(numbers)} parameters and the model has {len(names)} tensors")
    notes.append("The optimizer names no parameters: that it numbers them in the model's own order is taken on trust.")
    return dict(zip(numbers, names, strict=True))


def _owners(weights: Mapping[str, Any]) -> dict[str, str]:
    """Return each name's owner: itself, or of tensors that share their memory, as tied ones do, the first one's name."""
    first: dict[Any, str] = {}
    return {
        name: first.setdefault((value.untyped_storage().data_ptr(), value.storage_offset(), tuple(value.shape)), name)
        for name, value in weights.items()
        if value.is_floating_point()
    }


def _note_chosen(groups: list[Any], notes: list[str]) -> None:
    """Note the options that a user who continues the training must set anew."""
    values = {
        name: list(dict.fromkeys(str(group[name]) for group in groups if name in group and _differs(group[name], usual)))
        for name, usual in CHOSEN.items()
    }
    listed = "; ".join(f"{name} = {' or '.join(chosen)[:100]}" for name, chosen in values.items() if chosen)
    if listed:
        notes.append(f"The optimizer was set to {listed}: this must be set again where training continues.")


def _differs(value: Any, usual: Any) -> bool:
    return tuple(value) != usual if isinstance(value, (list, tuple)) else value != usual


def _betas(groups: list[Any]) -> list[float] | None:
    pairs = {tuple(float(beta) for beta in group["betas"]) for group in groups if "betas" in group}
    pair = pairs.pop() if len(pairs) == 1 else ()
    return list(pair) if len(pair) == 2 and all(0 <= beta < 1 for beta in pair) else None
